//! Asks the inflater for what was planned, and keeps account of the answers.

use std::collections::BTreeSet;

use domain::id::ObjectKey;
use domain::problem::Problem;
use futures::{StreamExt, stream};
use messages::admit::{AdmitAnswer, AdmitRequest, Change, Origin};

use super::directory::Contents;
use super::plan::{Plan, origin_of};
use super::refusal::{Outlook, PASSING, Refusal, depends_on_others};
use super::{Note, Pass, Sync};
use crate::admission::{self, Admission};
use crate::complaint::{Complaint, Subject};
use crate::deleted;
use crate::failure::Failure;
use crate::kinds::Kinds;
use crate::manifests::Document;
use crate::manifests::prepare::prepare;

/// Requests under way at a time.
const AT_A_TIME: usize = 16;

impl Pass {
    pub(super) fn note_files(&mut self, contents: &Contents) {
        self.refused += contents.broken.len();
        self.notes.extend(contents.broken.iter().chain(&contents.warnings).cloned().map(Note::Complaint));
        let foreign =
            contents.foreign.iter().map(|location| Note::Plain(format!("skipped: no manifest ({location})")));
        self.notes.extend(foreign);
    }

    pub(super) fn note_plan(&mut self, contents: &Contents, plan: &Plan, kinds: &Kinds) {
        let document = |index: &usize| &contents.documents[*index];
        for foreign in plan.foreign.iter().map(document) {
            let text = format!(
                "skipped: {}: `{}` is no kind of Millrace's, and no Promise offers it ({})",
                Subject::of(&foreign.object),
                foreign.object.api_version,
                foreign.location("")
            );
            self.notes.insert(Note::Plain(text));
            self.awaits_others = true;
        }
        for held in plan.held.iter().map(document) {
            let text = format!(
                "skipped: {}: deleted by hand; change the document to have it again ({})",
                Subject::of(&held.object),
                held.location("")
            );
            self.notes.insert(Note::Plain(text));
        }
        let shown = |file: &String| contents.blank.get(file).unwrap_or(file).clone();
        for (file, objects) in plan.emptied.iter().map(|(file, objects)| (shown(file), objects)) {
            let text = format!("{file} holds no document any more; what it held (objects: {objects}) stays");
            self.notes.insert(Note::Plain(format!("{text} until the file is written again or removed")));
        }
        for (later, earlier) in &plan.repeated {
            let place = document(earlier).location("");
            let problem = Problem::error("repeated", "", format!("this object stands at {place} already"));
            self.refuse(document(later), vec![problem.help("keep one of the two")]);
        }
        for (index, key) in &plan.later {
            let text = format!("{} is being deleted; then its document is applied", kinds.readable(key));
            self.notes.insert(Note::Plain(format!("{text} ({})", document(index).location(""))));
            self.later.insert(key.clone());
        }
    }

    fn refuse(&mut self, document: &Document, problems: Vec<Problem>) {
        self.refused += 1;
        self.notes.extend(problems.into_iter().map(|problem| Note::Complaint(document.complaint(problem))));
    }

    /// Takes an answer; says what was done, if anything.
    fn take(
        &mut self,
        document: &Document,
        answer: Result<AdmitAnswer, admission::Error>,
        kinds: &Kinds,
    ) -> Option<String> {
        match answer {
            Ok(AdmitAnswer::Done { change, object, problems }) => {
                self.notes
                    .extend(problems.into_iter().map(|problem| Note::Complaint(document.complaint(problem))));
                let verb = match change {
                    Change::Unchanged => return None,
                    Change::Created => "created",
                    Change::Configured => "configured",
                    Change::Deleted => "deleted",
                };
                self.movement.changed(&object);
                Some(format!("{verb} {} ({})", kinds.readable(&object), document.place.shown))
            }
            Ok(AdmitAnswer::Refused { problems }) => {
                match Refusal::of(&problems) {
                    Refusal::Passing => {
                        self.unanswered =
                            Some(format!("{}: {}", Subject::of(&document.object), joined(&problems)));
                    }
                    Refusal::Clash => self.clashes.push((document.clone(), problems)),
                    Refusal::Lasting => {
                        self.awaits_others |= depends_on_others(&problems);
                        self.refuse(document, problems);
                    }
                }
                None
            }
            Err(error) => {
                self.unanswered = Some(error.to_string());
                None
            }
        }
    }

    /// Decides about the documents that clash with others, now that everything else was asked for.
    fn settle_clashes(&mut self, kinds: &Kinds) {
        for (document, problems) in std::mem::take(&mut self.clashes) {
            let object = &document.object;
            let key = kinds.written(&object.kind, object.group()).map(|kind| kind.key_of(object));
            match key.map_or(Outlook::Refused, |key| self.movement.outlook(&key)) {
                Outlook::After(going) => {
                    let names: Vec<String> = going.iter().map(|key| kinds.readable(key)).collect();
                    let text = format!("{} waits until {} is gone", Subject::of(object), names.join(", "));
                    let place = document.location("");
                    self.notes.insert(Note::Plain(format!("{text}: {} ({place})", joined(&problems))));
                    self.later.extend(going);
                }
                Outlook::Again => self.again = true,
                Outlook::Refused => {
                    self.awaits_others = true;
                    self.refuse(&document, problems);
                }
            }
        }
    }
}

fn joined(problems: &[Problem]) -> String {
    let reasons: Vec<String> = problems.iter().map(ToString::to_string).collect();
    reasons.join("; ")
}

impl Sync {
    pub(super) async fn perform(
        &self,
        contents: &[Contents],
        plans: &[Plan],
        kinds: &Kinds,
        pass: &mut Pass,
    ) -> Result<(), Failure> {
        let admission = Admission::new(&self.platform.bus);
        for group in 0..3 {
            let mut asking = Vec::new();
            for ((directory, contents), plan) in self.directories.iter().zip(contents).zip(plans) {
                let documents = plan.apply[group].iter().map(|index| &contents.documents[*index]);
                asking.extend(documents.map(|document| apply(&admission, directory.name(), document)));
            }
            let mut asked = stream::iter(asking).buffered(AT_A_TIME);
            while let Some((document, asked)) = asked.next().await {
                match asked {
                    Ok(answer) => pass
                        .take(document, answer, kinds)
                        .into_iter()
                        .for_each(|line| self.console.say(&line)),
                    Err(problems) => pass.refuse(document, problems),
                }
            }
        }
        for (key, origin) in plans.iter().flat_map(|plan| &plan.delete) {
            self.prune(&admission, key, origin, kinds, pass).await;
        }
        pass.settle_clashes(kinds);
        let over: BTreeSet<&ObjectKey> = plans.iter().flat_map(|plan| &plan.forget).collect();
        deleted::forget(&self.state, over)
    }

    async fn prune(
        &self,
        admission: &Admission,
        key: &ObjectKey,
        origin: &Origin,
        kinds: &Kinds,
        pass: &mut Pass,
    ) {
        let request = AdmitRequest::Delete { object: key.clone(), origin: Some(origin.clone()) };
        let complain = |problem: Problem| {
            let kind = kinds.stored(&key.kind).map_or_else(|| key.kind.to_string(), |kind| kind.name);
            Note::Complaint(Complaint { object: Some(Subject::of_key(&kind, key)), location: None, problem })
        };
        match admission.ask(&request).await {
            Ok(AdmitAnswer::Done { change: Change::Deleted, .. }) => {
                pass.movement.removed(key);
                self.console.say(&format!("deleted {} (gone from {})", kinds.readable(key), origin.file));
            }
            Ok(AdmitAnswer::Done { .. }) => {}
            Ok(AdmitAnswer::Refused { problems }) => {
                let passing = problems.iter().find(|problem| PASSING.contains(&&*problem.code));
                if passing.is_some() {
                    pass.movement.removed(key);
                }
                pass.unanswered = passing.map(ToString::to_string).or_else(|| pass.unanswered.take());
                pass.notes.extend(problems.into_iter().map(complain));
            }
            Err(error) => {
                pass.movement.removed(key); // perhaps; asked for again in any case
                pass.unanswered = Some(error.to_string());
            }
        }
    }
}

/// The answer; or what is missing on this side.
async fn apply<'a>(
    admission: &Admission,
    directory: String,
    document: &'a Document,
) -> (&'a Document, Result<Result<AdmitAnswer, admission::Error>, Vec<Problem>>) {
    let prepared = prepare(&document.object, &document.place.base, |name| std::env::var(name).ok());
    let object = match prepared {
        Ok(object) => object.to_value(),
        Err(problems) => return (document, Err(problems)),
    };
    let origin = Some(origin_of(&directory, document));
    (document, Ok(admission.ask(&AdmitRequest::Apply { object, origin }).await))
}
