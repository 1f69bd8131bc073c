//! `millrace inflate`: the plans of the Promises and requests in files, as the inflater would make them.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args as ClapArgs;
use domain::plan::{Plan, WorkflowAction};
use domain::problem::Problem;
use inflation::{InstalledPromise, Role, World, admit, plan};
use resources::Object;

use crate::complaint::Subject;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::Kinds;
use crate::manifests::prepare::prepare;
use crate::manifests::{Document, named};
use crate::output::table::Table;
use crate::output::{Format, structured};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// Files, directories, or - for standard input
    #[arg(short, long = "filename", required = true, num_args = 1.., value_name = "FILE")]
    files: Vec<PathBuf>,
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Format,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.output == Format::Json
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<Exit, Failure> {
    let manifests = named(&args.files)?;
    let mut refused = false;
    for manifest in &manifests {
        console.complain_all(&manifest.broken);
        refused |= !manifest.broken.is_empty();
    }
    let documents: Vec<Document> = manifests.into_iter().flat_map(|manifest| manifest.documents).collect();
    let inflated = inflate(&documents);
    for (document, problem) in inflated.problems {
        refused |= problem.is_error();
        console.complain(&document.complaint(problem));
    }
    for document in inflated.foreign {
        let (object, place) = (Subject::of(&document.object), document.location(""));
        console.say(&format!("skipped: {object}: no Promise among the files offers its kind ({place})"));
    }
    if inflated.plans.is_empty() {
        console.say("nothing to plan: the files hold no Promise and no request of one");
        return Ok(if refused { Exit::Failed } else { Exit::Done });
    }
    let kinds = Kinds::of(documents.iter().map(|document| &document.object));
    console.print(&show(&inflated.plans, &kinds, args.output)?)?;
    Ok(if refused { Exit::Failed } else { Exit::Done })
}

#[derive(Default)]
struct Inflated<'a> {
    plans: Vec<Plan>,
    problems: Vec<(&'a Document, Problem)>,
    /// Of kinds that neither this program nor a Promise among the files knows.
    foreign: Vec<&'a Document>,
}

/// Plans in the order of the documents, as if they were applied to an empty system: Promises before their requests.
fn inflate(documents: &[Document]) -> Inflated<'_> {
    let (mut world, mut inflated) = (World::default(), Inflated::default());
    for document in documents.iter().filter(|document| is_promise(&document.object)) {
        let Some(object) = inflated.admit(document, &world) else { continue };
        match InstalledPromise::new(object) {
            Ok(promise) => world.promises.push(Arc::new(promise)),
            Err(problem) => inflated.problems.push((document, problem)),
        }
    }
    for document in documents {
        if is_promise(&document.object) {
            let promise = world.promise(document.object.name());
            inflated
                .plans
                .extend(promise.map(|promise| plan::inflate_promise(promise, WorkflowAction::Configure)));
            continue;
        }
        match world.role(&document.object) {
            None => inflated.foreign.push(document),
            Some(role) => {
                let Some(object) = inflated.admit(document, &world) else { continue };
                if let Role::Request(promise, _) = role {
                    inflated.plans.push(plan::inflate_request(promise, &object, WorkflowAction::Configure));
                }
            }
        }
    }
    inflated
}

fn is_promise(object: &Object) -> bool {
    object.kind == "Promise" && object.group() == resources::keys::KRATIX_GROUP
}

impl<'a> Inflated<'a> {
    fn admit(&mut self, document: &'a Document, world: &World) -> Option<Object> {
        // Secrets have no plans, so it does not matter what the environment holds.
        let object = prepare(&document.object, &document.place.base, |_| Some(String::new())).ok()?;
        match admit(object, None, world) {
            Ok(admitted) => {
                self.problems.extend(admitted.problems.into_iter().map(|problem| (document, problem)));
                let mut object = admitted.object;
                object.metadata.generation = Some(1);
                Some(object)
            }
            Err(problems) => {
                self.problems.extend(problems.into_iter().map(|problem| (document, problem)));
                None
            }
        }
    }
}

fn show(plans: &[Plan], kinds: &Kinds, format: Format) -> Result<String, Failure> {
    match format {
        Format::Json => structured(&plans, true),
        Format::Yaml => {
            let texts = plans.iter().map(|plan| structured(plan, false)).collect::<Result<Vec<_>, _>>()?;
            Ok(texts.join("---\n"))
        }
        Format::Table => Ok(table(plans, kinds, false)),
        Format::Wide => Ok(table(plans, kinds, true)),
    }
}

fn table(plans: &[Plan], kinds: &Kinds, wide: bool) -> String {
    let mut header = vec!["OBJECT", "ACTION", "STEP", "PIPELINE", "CONTAINER", "IMAGE"];
    header.extend(wide.then_some("COMMAND"));
    let mut table = Table::new(header);
    for plan in plans {
        let object = kinds.readable(&plan.lane.0);
        if plan.pipelines.is_empty() {
            table.row([object.clone(), plan.action.as_str().into(), "-".into(), "<none>".into()]);
        }
        for (index, pipeline) in plan.pipelines.iter().enumerate() {
            for container in &pipeline.containers {
                let step = (index + 1).to_string();
                let (name, image) = (container.name.clone(), container.image.clone());
                let mut row = vec![
                    object.clone(),
                    plan.action.as_str().into(),
                    step,
                    pipeline.name.clone(),
                    name,
                    image,
                ];
                row.extend(wide.then(|| [&container.command[..], &container.args[..]].concat().join(" ")));
                table.row(row);
            }
        }
    }
    table.to_string()
}
