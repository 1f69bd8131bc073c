//! What people see: results on stdout, everything else on stderr, neither torn by progress bars.

use std::io::{self, ErrorKind, Write};

use clap::ValueEnum;
use indicatif::MultiProgress;

use crate::complaint::Complaint;
use crate::failure::Failure;

/// How complaints are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Style {
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Console {
    style: Style,
    bars: MultiProgress,
}

impl Console {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, bars: MultiProgress::new() }
    }

    pub(crate) fn bars(&self) -> &MultiProgress {
        &self.bars
    }

    /// A result. A reader that has gone away is none of the command's business.
    pub(crate) fn print(&self, text: &str) -> Result<(), Failure> {
        let written = self.bars.suspend(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        });
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::Output(error)),
            _ => Ok(()),
        }
    }

    /// News that is no result. There is nobody to tell when stderr is closed.
    pub(crate) fn say(&self, line: &str) {
        self.bars.suspend(|| drop(writeln!(io::stderr(), "{line}")));
    }

    pub(crate) fn complain(&self, complaint: &Complaint) {
        match self.style {
            Style::Text => self.say(&complaint.to_string()),
            Style::Json => self.say(&complaint.to_json().to_string()),
        }
    }

    pub(crate) fn complain_all<'a>(&self, complaints: impl IntoIterator<Item = &'a Complaint>) {
        for complaint in complaints {
            self.complain(complaint);
        }
    }
}
