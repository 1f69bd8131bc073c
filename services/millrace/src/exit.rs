//! How the program ends.

use std::process::ExitCode;

/// Exit codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All is well, and everything that was asked for is done.
    Done,
    /// Something failed or was refused.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The system is quiet, but something in it waits.
    Waiting,
    /// `--timeout` has passed.
    TimedOut,
    /// Ended by Ctrl-C before it was done.
    Interrupted,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::TimedOut => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
