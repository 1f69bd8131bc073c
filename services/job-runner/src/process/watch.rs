//! Everything that can end a job from outside: its runner, its deadline, a newer job of its lane.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use super::failure::{Failure, at};
use super::job::Outcome;
use super::lane::Lane;
use super::wire::CANCEL;

/// A runner that is silent for so long is dead or stopped. Its heartbeats come every 200 ms.
const SILENCE: Duration = Duration::from_millis(2500);

/// Watches a job from the supervisor's standard input and the clock.
pub(super) struct Watch {
    heard: Duration,
    deadline: Duration,
    lane: Option<Lane>,
}

/// Time that goes on while the machine sleeps.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::try_from(time).expect("the time since boot is not negative")
}

impl Watch {
    /// Without a lane yet: `limit` is for the wait for its lock.
    pub(super) fn new(limit: Duration) -> Self {
        let now = now();
        Self { heard: now, deadline: now.saturating_add(limit), lane: None }
    }

    /// From here on `limit` is for the job itself.
    pub(super) fn start(&mut self, lane: Lane, limit: Duration) {
        self.deadline = now().saturating_add(limit);
        self.lane = Some(lane);
    }

    /// Waits until something of `others` is readable, at most `tick`; says whether the job must end, and how.
    pub(super) fn wait(&mut self, others: &[BorrowedFd], tick: Duration) -> Result<Option<Outcome>, Failure> {
        let stdin = io::stdin();
        let mut fds = vec![PollFd::new(&stdin, PollFlags::IN)];
        fds.extend(others.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)));
        let left = (self.heard + SILENCE).min(self.deadline).saturating_sub(now()).min(tick);
        let left = at("wait", Timespec::try_from(left + Duration::from_millis(1)).map_err(io::Error::other))?;
        match poll(&mut fds, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return at("wait", Err(e)),
        }
        if !fds[0].revents().is_empty() {
            let mut beats = [0; 64];
            match at("heartbeat", rustix::io::read(&stdin, &mut beats))? {
                0 => return Ok(Some(Outcome::RunnerSilent)),
                n if beats[..n].contains(&CANCEL) => return Ok(Some(Outcome::Cancelled)),
                _ => self.heard = now(),
            }
        }
        self.judge(now())
    }

    fn judge(&self, time: Duration) -> Result<Option<Outcome>, Failure> {
        if time >= self.heard + SILENCE {
            return Ok(Some(Outcome::RunnerSilent));
        }
        if time >= self.deadline {
            return Ok(Some(Outcome::TimedOut));
        }
        match &self.lane {
            Some(lane) => Ok(lane.newer()?.map(|by| Outcome::Superseded { by })),
            None => Ok(None),
        }
    }
}
