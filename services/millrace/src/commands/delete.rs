//! `millrace delete`: asks for the deletion of objects; they go when their lanes have cleaned up.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use domain::id::ObjectKey;
use messages::admit::{AdmitAnswer, AdmitRequest};

use super::{kinds, not_found};
use crate::admission::Admission;
use crate::complaint::{Complaint, Subject};
use crate::console::{Console, Style};
use crate::deleted::{self, origin};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::{Kind, Kinds};
use crate::manifests::named;
use crate::session::{Session, Target};
use crate::targets::{Scope, parse};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// KIND NAME..., or KIND/NAME...
    #[arg(required_unless_present = "files", conflicts_with = "files", value_name = "WHAT")]
    what: Vec<String>,
    /// The objects in these files or directories; - for standard input
    #[arg(short, long = "filename", num_args = 1.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Namespace [default: default]
    #[arg(short, long, value_name = "NS")]
    namespace: Option<String>,
    /// An object that is not there is no error
    #[arg(long)]
    ignore_not_found: bool,
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
    let session = Session::serving(target).await?;
    let deleted = delete(&args, &session, console).await;
    session.close().await;
    Ok(if deleted? { Exit::Done } else { Exit::Failed })
}

/// Says whether all are going.
async fn delete(args: &Args, session: &Session, console: &Console) -> Result<bool, Failure> {
    let kinds = kinds(&session.platform).await?;
    let admission = Admission::new(&session.platform.bus);
    let mut all = true;
    for (kind, key) in wanted(args, &kinds, console, &mut all)? {
        let Some(object) = session.platform.objects.get(&key).await? else {
            if !args.ignore_not_found {
                console.complain(&not_found(&kind, &key));
                all = false;
            }
            continue;
        };
        // First: the sync of its directory must not make it again.
        match (origin(&object), &session.state) {
            (None, _) => {}
            (Some(origin), Some(state)) => deleted::remember(state, &key, origin)?,
            (Some(origin), None) => console.say(&format!(
                "{} comes from {} in {}: its `up` makes it again when it syncs next",
                kinds.readable(&key),
                origin.file,
                origin.directory
            )),
        }
        match admission.ask(&AdmitRequest::Delete { object: key.clone(), origin: None }).await? {
            AdmitAnswer::Done { .. } => {
                console.print(&format!("{}/{} deleted\n", kind.qualified(), key.name))?;
            }
            AdmitAnswer::Refused { problems } => {
                all = false;
                for problem in problems {
                    let object = Some(Subject::of_key(&kind.name, &key));
                    console.complain(&Complaint { object, location: None, problem });
                }
                if let Some(state) = &session.state {
                    deleted::forget(state, [&key])?;
                }
            }
        }
    }
    Ok(all)
}

fn wanted(
    args: &Args,
    kinds: &Kinds,
    console: &Console,
    all: &mut bool,
) -> Result<Vec<(Kind, ObjectKey)>, Failure> {
    let mut wanted = Vec::new();
    if args.files.is_empty() {
        let scope = Scope { namespace: args.namespace.clone(), all_namespaces: false };
        for one in parse(&args.what)? {
            let kind = kinds.spelled(&one.kind)?;
            if one.names.is_empty() {
                return Err(Failure::Usage(format!("which {}?", kind.singular)));
            }
            wanted.extend(one.names.iter().map(|name| (kind.clone(), name.key(&kind, &scope))));
        }
        return Ok(wanted);
    }
    for manifest in named(&args.files)? {
        *all &= manifest.broken.is_empty();
        console.complain_all(&manifest.broken);
        for document in &manifest.documents {
            let object = &document.object;
            let Some(kind) = kinds.written(&object.kind, object.group()) else {
                console.say(&format!("skipped: {}: of a kind that is not installed", Subject::of(object)));
                continue;
            };
            let key = kind.key(object.namespace().or(args.namespace.as_deref()), object.name());
            wanted.push((kind, key));
        }
    }
    // Requests go before the Promise that says how.
    wanted.sort_by_key(|(kind, _)| !kind.is_request());
    Ok(wanted)
}
