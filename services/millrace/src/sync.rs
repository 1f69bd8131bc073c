//! Directories of manifests, made true in the system: at start and at every change.
//!
//! read -> list what is stored -> [`plan`] -> ask the inflater -> tell what happened. Every pass starts anew, so one
//! that was cut short costs nothing.

mod directory;
mod perform;
mod plan;
mod refusal;
mod watch;

pub(crate) use directory::{Watched, distinct};

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::id::{ObjectKey, ResourceKind};
use domain::problem::Problem;
use resources::Object;
use runtime::Platform;
use runtime::shutdown::Shutdown;
use runtime::telemetry::chain;
use tokio::sync::watch as channel;

use crate::complaint::Complaint;
use crate::console::Console;
use crate::deleted;
use crate::failure::Failure;
use crate::kinds::Kinds;
use crate::manifests::Document;
use crate::state::StateDir;
use plan::{Directory, Plan, Stored};
use refusal::Movement;

/// Pause before what could not be done is tried again: short at first, since at start the inflater is about to come.
fn pause(attempt: u32) -> Duration {
    Duration::from_millis(20 << attempt.min(6)).min(Duration::from_secs(1))
}

/// Attempts after which people are told; about a second has passed.
const TOLD: u32 = 6;

/// How far the sync is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Everything that the directories hold now was asked for and answered.
    pub current: bool,
    /// Documents that cannot be read or were refused.
    pub refused: usize,
    /// Objects that must go before some documents can be applied.
    pub later: BTreeSet<ObjectKey>,
}

pub(crate) struct Sync {
    pub directories: Vec<Watched>,
    pub platform: Platform,
    pub state: StateDir,
    pub console: Console,
}

/// What one pass has come to.
#[derive(Debug, Default)]
struct Pass {
    /// Shown unless the pass before had them too.
    notes: BTreeSet<Note>,
    refused: usize,
    later: BTreeSet<ObjectKey>,
    /// Why something was not done that will be: the inflater did not answer, or asked for patience.
    unanswered: Option<String>,
    /// Documents that were refused because of other objects, until it is decided what to make of that.
    clashes: Vec<(Document, Vec<Problem>)>,
    movement: Movement,
    /// Others have changed since a document was refused because of them.
    again: bool,
    /// A change of Promises, Destinations or stores may change what becomes of some documents.
    awaits_others: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Note {
    Plain(String),
    Complaint(Complaint),
}

impl Sync {
    /// Syncs until the shutdown.
    pub(crate) async fn run(
        self,
        standing: &channel::Sender<Standing>,
        mut shutdown: Shutdown,
    ) -> Result<(), Failure> {
        let failed = |error: notify::Error| Failure::System(format!("watching directories: {error}"));
        let mut changes = watch::Changes::new(&self.directories).map_err(failed)?;
        let mut installed = watch::Installed::follow(&self.platform.objects, shutdown.clone()).await?;
        let (mut before, mut going, mut attempt) = (BTreeSet::new(), BTreeSet::new(), 0);
        loop {
            changes.cover(&self.directories).map_err(failed)?;
            let mut pass = match self.pass(&going).await {
                Ok(pass) => pass,
                Err(failure) => {
                    let movement = Movement { going, changed: false };
                    let (unanswered, notes) = (Some(chain(&failure)), before.clone());
                    Pass { notes, unanswered, movement, ..Pass::default() }
                }
            };
            if let Some(reason) = pass.unanswered.as_ref().filter(|_| attempt >= TOLD) {
                let problem =
                    Problem::warning("unanswered", "", reason).help("the sync tries again and again");
                pass.notes.insert(Note::Complaint(Complaint::general(problem)));
            }
            self.tell(&pass.notes, &before);
            let current = pass.unanswered.is_none() && !pass.again;
            let retry = !current || !pass.later.is_empty();
            attempt = if retry { attempt + 1 } else { 0 };
            standing.send_replace(Standing { current, refused: pass.refused, later: pass.later });
            (before, going) = (pass.notes, pass.movement.going);
            tokio::select! {
                () = shutdown.requested() => return Ok(()),
                () = changes.settled() => {}
                () = tokio::time::sleep(pause(attempt)), if retry => {}
                () = installed.changed(), if pass.awaits_others => {}
            }
            standing.send_modify(|standing| standing.current = false);
        }
    }

    /// `going`: what was to be removed in the pass before.
    async fn pass(&self, going: &BTreeSet<ObjectKey>) -> Result<Pass, Failure> {
        let directories = self.directories.clone();
        let read =
            tokio::task::spawn_blocking(move || directories.iter().map(Watched::read).collect::<Vec<_>>());
        let contents =
            read.await.map_err(|error| Failure::System(format!("reading directories: {error}")))?;
        let stored = self.stored().await?;
        // What the files say about an API is newer than what is stored.
        let written =
            contents.iter().flat_map(|contents| &contents.documents).map(|document| &document.object);
        let kinds = Kinds::of(written.chain(stored.values()));
        let stored: BTreeMap<ObjectKey, Stored> =
            stored.iter().map(|(key, object)| (key.clone(), Stored::of(object))).collect();
        let by_hand = deleted::load(&self.state)?;
        let plans: Vec<Plan> = self
            .directories
            .iter()
            .zip(&contents)
            .map(|(directory, contents)| {
                let directory = Directory {
                    name: &directory.name(),
                    documents: &contents.documents,
                    complete: contents.broken.is_empty(),
                    blank: &contents.blank,
                };
                plan::plan(directory, &kinds, &stored, &by_hand)
            })
            .collect();
        let mut pass = Pass { movement: Movement::begin(&stored, going), ..Pass::default() };
        for (contents, plan) in contents.iter().zip(&plans) {
            pass.note_files(contents);
            pass.note_plan(contents, plan, &kinds);
        }
        self.perform(&contents, &plans, &kinds, &mut pass).await?;
        Ok(pass)
    }

    async fn stored(&self) -> Result<BTreeMap<ObjectKey, Object>, Failure> {
        let mut all = BTreeMap::new();
        for kind in [None, Some(&ResourceKind::new("secrets", ""))] {
            all.extend(self.platform.objects.list(kind).await?);
        }
        Ok(all)
    }

    fn tell(&self, notes: &BTreeSet<Note>, before: &BTreeSet<Note>) {
        for note in notes.difference(before) {
            match note {
                Note::Plain(text) => self.console.say(text),
                Note::Complaint(complaint) => self.console.complain(complaint),
            }
        }
    }
}
