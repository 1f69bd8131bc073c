//! What a container wrote to one of its streams.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_setfl};

use super::failure::{Failure, at};

/// What a pipe holds at most, unless its command makes it larger.
const PIPE_BYTES: usize = 1 << 16;

/// Read to its end, so that nobody blocks on it; kept up to a limit.
pub(super) struct Log {
    pipe: OwnedFd,
    open: bool,
    kept: Vec<u8>,
    limit: usize,
    dropped: u64,
    buffer: Box<[u8]>,
}

impl Log {
    pub(super) fn new(pipe: OwnedFd, limit: usize) -> Result<Self, Failure> {
        at("log pipe", fcntl_setfl(&pipe, OFlags::NONBLOCK))?;
        Ok(Self { pipe, open: true, kept: vec![], limit, dropped: 0, buffer: vec![0; PIPE_BYTES].into() })
    }

    /// What to wait for; nothing once the stream has ended.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.open.then(|| self.pipe.as_fd())
    }

    /// One pipe's worth at most, so that a command that only shouts cannot keep its supervisor from the clock. Says
    /// whether there was any.
    pub(super) fn read(&mut self) -> bool {
        match rustix::io::read(&self.pipe, &mut *self.buffer) {
            Ok(0) => self.open = false,
            Ok(n) => {
                let keep = n.min(self.limit - self.kept.len());
                self.kept.extend_from_slice(&self.buffer[..keep]);
                self.dropped += (n - keep) as u64;
                return true;
            }
            Err(_) => {} // nothing there at the moment
        }
        false
    }

    /// The text kept, and how many bytes were not. Called when nobody can write any more.
    pub(super) fn finish(mut self) -> (String, u64) {
        while self.open && self.read() {}
        (String::from_utf8_lossy(&self.kept).into_owned(), self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_log_is_kept_to_its_limit_and_the_rest_counted() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut log = Log::new(reader.into(), 5).unwrap();
        assert!(!log.read(), "nothing written yet");
        writer.write_all(b"abc").unwrap();
        assert!(log.read());
        writer.write_all(b"defgh").unwrap();
        drop(writer);
        assert_eq!(log.finish(), ("abcde".into(), 3));
    }
}
