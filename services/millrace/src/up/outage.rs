//! A bus that cannot be read for a while: people are told once, not at every attempt.

use domain::problem::Problem;
use runtime::telemetry::chain;

use crate::complaint::Complaint;
use crate::console::Console;
use crate::failure::Failure;

pub(super) struct Outage<'a> {
    console: &'a Console,
    is_told: bool,
}

impl<'a> Outage<'a> {
    pub(super) fn new(console: &'a Console) -> Self {
        Self { console, is_told: false }
    }

    /// Takes a read that failed; returns why.
    pub(super) fn failed(&mut self, failure: &Failure) -> String {
        let reason = chain(failure);
        if !std::mem::replace(&mut self.is_told, true) {
            let problem = Problem::warning("unread", "", format!("progress cannot be read: {reason}"));
            self.console.complain(&Complaint::general(problem.help("it is read again and again")));
        }
        reason
    }

    /// Takes a read that did not fail.
    pub(super) fn over(&mut self) {
        if std::mem::take(&mut self.is_told) {
            self.console.say("progress can be read again");
        }
    }
}
