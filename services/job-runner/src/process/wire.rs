//! The bytes between runner and supervisor. Down a pipe: the order, then heartbeats. Back over a socket: the report and
//! the job's directories.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use super::job::{FenceToken, Job, Report};

/// Heartbeat: the runner lives.
pub(super) const BEAT: u8 = b'.';
/// Heartbeat: and wants the job killed.
pub(super) const CANCEL: u8 = b'x';

/// What a supervisor is started for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub job: Job,
    pub token: FenceToken,
    /// Where the job's directories are made when nothing is mounted.
    pub directory: Option<std::path::PathBuf>,
}

impl Order {
    pub(super) fn write_to(&self, pipe: &mut impl Write) -> io::Result<()> {
        write_frame(pipe, &serde_json::to_vec(self)?)?;
        write_frame(pipe, &self.job.input)
    }

    pub(super) fn read_from(pipe: &mut impl Read) -> io::Result<Self> {
        let mut order: Self = serde_json::from_slice(&read_frame(pipe)?)?;
        order.job.input = read_frame(pipe)?;
        Ok(order)
    }
}

fn write_frame(to: &mut impl Write, content: &[u8]) -> io::Result<()> {
    to.write_all(&length(content)?)?;
    to.write_all(content)
}

fn read_frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut size = [0; 4];
    from.read_exact(&mut size)?;
    let mut content = vec![0; u32::from_le_bytes(size) as usize];
    from.read_exact(&mut content)?;
    Ok(content)
}

fn length(content: &[u8]) -> io::Result<[u8; 4]> {
    u32::try_from(content.len()).map(u32::to_le_bytes).map_err(|_| io::ErrorKind::FileTooLarge.into())
}

/// Output and metadata directory: their descriptors keep the file systems alive for the runner alone.
pub(super) type Directories = [OwnedFd; 2];

pub(super) fn send_report(
    socket: BorrowedFd,
    report: &Report,
    directories: Option<&Directories>,
) -> io::Result<()> {
    let text = serde_json::to_vec(report)?;
    let fds: Vec<BorrowedFd> = directories.into_iter().flatten().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&fds));
    }
    sendmsg(socket, &[IoSlice::new(&length(&text)?)], &mut control, SendFlags::NOSIGNAL)?;
    std::fs::File::from(socket.try_clone_to_owned()?).write_all(&text)
}

/// `None`: the other end was closed without a report.
pub(super) fn receive_report(socket: &OwnedFd) -> io::Result<Option<(Report, Option<Directories>)>> {
    let mut size = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
    let received = recvmsg(socket, &mut [IoSliceMut::new(&mut size)], &mut control, flags)?;
    if received.bytes < size.len() {
        return Ok(None);
    }
    let fds: Vec<OwnedFd> = control
        .drain()
        .filter_map(
            |message| if let RecvAncillaryMessage::ScmRights(fds) = message { Some(fds) } else { None },
        )
        .flatten()
        .collect();
    let mut text = vec![0; u32::from_le_bytes(size) as usize];
    std::fs::File::from(socket.try_clone()?).read_exact(&mut text)?;
    Ok(Some((serde_json::from_slice(&text)?, fds.try_into().ok())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::Resolved;
    use crate::process::{Container, Outcome};
    use std::os::unix::net::UnixStream;

    #[test]
    fn an_order_survives_the_pipe_with_its_input() {
        let container = Container::new("one", Resolved::Host, vec!["true".into()]);
        let order = Order {
            job: Job::new("/run/lane", vec![container], vec![0, 255, b'\n']),
            token: FenceToken { incarnation: 1, run: 2, pipeline: 3, attempt: 4 },
            directory: Some("/tmp/x".into()),
        };
        let mut bytes = vec![];
        order.write_to(&mut bytes).unwrap();
        bytes.push(BEAT);
        let mut pipe = &bytes[..];
        let read = Order::read_from(&mut pipe).unwrap();
        assert_eq!(read.job.input, order.job.input);
        assert_eq!((read.token, read.directory), (order.token, order.directory));
        assert_eq!(read.job.containers[0].command, ["true"]);
        assert_eq!(pipe, [BEAT], "heartbeats are left in the pipe");
    }

    #[test]
    fn a_report_comes_with_its_directories() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let report = Report::nothing_ran(Outcome::TimedOut);
        let directories = ["/usr", "/etc"].map(|path| std::fs::File::open(path).unwrap().into());
        send_report(theirs.as_fd(), &report, Some(&directories)).unwrap();
        let (received, fds) = receive_report(&ours.into()).unwrap().unwrap();
        assert_eq!(received, report);
        let inode = |fd: &OwnedFd| rustix::fs::fstat(fd).unwrap().st_ino;
        assert_eq!(fds.unwrap().each_ref().map(inode), directories.each_ref().map(inode));
    }

    #[test]
    fn a_closed_socket_is_no_report() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(receive_report(&ours.into()).unwrap().is_none());
    }
}
