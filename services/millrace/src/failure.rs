//! Why a command ends without doing what it was asked for.

use std::io;
use std::path::PathBuf;

use domain::problem::Problem;
use runtime::telemetry::chain;

use crate::complaint::Complaint;
use crate::exit::Exit;
use crate::{admission, kinds, nats_child, state};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    #[error("no `millrace up` runs on {}", .0.display())]
    NotServed(PathBuf),
    #[error(transparent)]
    Kind(#[from] kinds::Unknown),
    #[error(transparent)]
    State(#[from] state::Error),
    #[error(transparent)]
    Server(#[from] nats_child::Error),
    #[error(transparent)]
    Admission(#[from] admission::Error),
    #[error(transparent)]
    Bus(#[from] runtime::bus::Error),
    #[error(transparent)]
    Objects(#[from] runtime::objects::Error),
    #[error(transparent)]
    Artifacts(#[from] runtime::artifacts::Error),
    #[error("reading the bus: {what}")]
    Read { what: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("{}", file.display())]
    File { file: PathBuf, source: io::Error },
    #[error("{}: {message}", file.display())]
    Configuration { file: PathBuf, message: String },
    #[error("{what} cannot be written as {format}: {message}")]
    Format { what: String, format: &'static str, message: String },
    #[error("{service} has ended: {message}")]
    Service { service: &'static str, message: String },
    #[error("writing the result")]
    Output(#[source] io::Error),
    #[error("{0}")]
    System(String),
}

impl Failure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Kind(_) => Exit::Usage,
            _ => Exit::Failed,
        }
    }

    pub(crate) fn complaint(&self) -> Complaint {
        let problem = Problem::error(self.code(), "", chain(self));
        Complaint::general(match self.help() {
            Some(help) => problem.help(help),
            None => problem,
        })
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::NotServed(_) => "not-served",
            Self::Kind(_) => "unknown-kind",
            Self::State(_) => "state",
            Self::Server(_) => "nats-server",
            Self::Admission(_) => "admission",
            Self::Bus(_) | Self::Read { .. } => "bus",
            Self::Objects(_) => "objects",
            Self::Artifacts(_) => "artifacts",
            Self::File { .. } | Self::Output(_) => "file",
            Self::Configuration { .. } => "configuration",
            Self::Format { .. } => "format",
            Self::Service { .. } => "service",
            Self::System(_) => "system",
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NotServed(_) => {
                "start one, or name another state directory with --state, or a server with --nats"
            }
            Self::Kind(unknown) => return Some(unknown.help()),
            Self::State(state::Error::Held { .. }) => "end that process, or use another --state",
            Self::State(state::Error::Foreign(_)) => "name an empty or a new directory with --state",
            Self::State(state::Error::NotFound) => {
                "start `millrace up`, or name its state directory with --state"
            }
            Self::Server(nats_child::Error::Find(_)) => {
                "`make tools` puts one into .tools/bin; or name one with MILLRACE_NATS_SERVER"
            }
            Self::Server(_) => "the server's log is nats/nats.log in the state directory",
            Self::Bus(runtime::bus::Error::Connect { .. }) => {
                "a server that asks for a key needs --nkey as well"
            }
            Self::Admission(admission::Error::Unreachable { .. }) => {
                "is an inflater running? `millrace up` starts one"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}
