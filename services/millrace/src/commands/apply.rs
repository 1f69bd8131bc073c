//! `millrace apply`: objects from files.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use domain::problem::Problem;
use messages::admit::{AdmitAnswer, AdmitRequest, Change};

use super::kinds;
use crate::admission::Admission;
use crate::complaint::Complaint;
use crate::console::{Console, Style};
use crate::deleted;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::{Kinds, Role};
use crate::manifests::prepare::prepare;
use crate::manifests::{Document, named};
use crate::session::{Session, Target};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Files, directories, or - for standard input
    #[arg(short, long = "filename", required = true, num_args = 1.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Namespace of objects that name none [default: default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,
    /// How errors are written
    #[arg(short, long, value_enum, default_value_t)]
    output: Style,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.output == Style::Json
    }
}

pub(crate) async fn run(args: Args, target: &Target, console: &Console) -> Result<Exit, Failure> {
    let manifests = named(&args.files)?;
    let mut failed = false;
    for manifest in &manifests {
        console.complain_all(&manifest.broken);
        failed |= !manifest.broken.is_empty();
        for location in &manifest.foreign {
            let problem = Problem::error("no-manifest", "", "this is no manifest of an object");
            console.complain(&Complaint { object: None, location: Some(location.clone()), problem });
            failed = true;
        }
    }
    let documents: Vec<Document> = manifests.into_iter().flat_map(|manifest| manifest.documents).collect();
    if documents.is_empty() && !failed {
        return Err(Failure::Usage("the files hold no objects".into()));
    }
    let session = Session::serving(target).await?;
    let applied = apply(&args, &session, documents, console).await;
    session.close().await;
    Ok(if applied? && !failed { Exit::Done } else { Exit::Failed })
}

/// In order of Promises, other known kinds, requests. Says whether all were taken.
async fn apply(
    args: &Args,
    session: &Session,
    mut documents: Vec<Document>,
    console: &Console,
) -> Result<bool, Failure> {
    let installed = kinds(&session.platform).await?;
    let written = Kinds::of(documents.iter().map(|document| &document.object));
    let kind_of = |document: &Document| {
        let (kind, group) = (&document.object.kind, document.object.group());
        written.written(kind, group).or_else(|| installed.written(kind, group))
    };
    documents.sort_by_key(|document| match kind_of(document) {
        Some(kind) if kind.is_promise() => 0,
        Some(kind) if matches!(kind.role, Role::Known(_)) => 1,
        Some(_) | None => 2,
    });
    let admission = Admission::new(&session.platform.bus);
    let mut all = true;
    for document in &documents {
        let namespaced = kind_of(document).is_some_and(|kind| kind.namespaced);
        let request = match request(args, document, namespaced) {
            Ok(request) => request,
            Err(problems) => {
                complain(document, problems, console);
                all = false;
                continue;
            }
        };
        let problems = match admission.ask(&request).await? {
            AdmitAnswer::Done { change, object, problems } => {
                let name = kind_of(document).map_or_else(|| object.kind.to_string(), |kind| kind.qualified());
                console.print(&format!("{name}/{} {}\n", object.name, verb(change)))?;
                if let Some(state) = &session.state {
                    deleted::forget(state, [&object])?;
                }
                problems
            }
            AdmitAnswer::Refused { problems } => {
                all = false;
                problems
            }
        };
        complain(document, problems, console);
    }
    Ok(all)
}

fn complain(document: &Document, problems: Vec<Problem>, console: &Console) {
    for problem in problems {
        console.complain(&document.complaint(problem));
    }
}

fn request(args: &Args, document: &Document, namespaced: bool) -> Result<AdmitRequest, Vec<Problem>> {
    let base = &document.place.base;
    let mut object = prepare(&document.object, base, |name| std::env::var(name).ok())?;
    if let Some(namespace) = args.namespace.as_ref().filter(|_| namespaced) {
        match object.namespace() {
            Some(written) if written != namespace => {
                let message = format!("{written} is not the namespace {namespace} of the command line");
                return Err(vec![Problem::error("namespace", "metadata.namespace", message)]);
            }
            Some(_) | None => object.metadata.namespace = Some(namespace.clone()),
        }
    }
    Ok(AdmitRequest::Apply { object: object.to_value(), origin: None })
}

/// As `kubectl` says it.
fn verb(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Configured => "configured",
        Change::Unchanged => "unchanged",
        Change::Deleted => "deleted",
    }
}
