//! `millrace get`: objects as a table, YAML or JSON.

use clap::Args as ClapArgs;
use domain::id::ObjectKey;
use resources::Object;
use runtime::Platform;

use super::{kinds, not_found};
use crate::complaint::Complaint;
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kinds::{Kind, Kinds};
use crate::output::{Format, View, list, showable, structured, table};
use crate::session::{Session, Target};
use crate::targets::{LabelSelector, Scope, Wanted, parse};

#[derive(Debug, ClapArgs)]
pub(crate) struct Args {
    /// KIND[,KIND...] [NAME...], or KIND/NAME...; `all` for everything that is worked on
    #[arg(required = true, value_name = "WHAT")]
    what: Vec<String>,
    #[command(flatten)]
    scope: Scope,
    /// Only objects with these labels: a=b,c!=d,e,!f
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<LabelSelector>,
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

impl Args {
    pub(crate) fn is_json(&self) -> bool {
        self.output == Format::Json
    }
}

/// What was asked for of one kind.
struct Found {
    kind: Kind,
    objects: Vec<Object>,
    /// Asked for by name.
    named: bool,
}

pub(crate) async fn run(args: Args, target: &Target, console: &Console) -> Result<Exit, Failure> {
    let session = Session::reading(target).await?;
    let looked = look(&args, &session.platform).await;
    session.close().await;
    let (found, missing) = looked?;
    console.complain_all(&missing);
    show(&args, &found, console)?;
    Ok(if missing.is_empty() { Exit::Done } else { Exit::Failed })
}

async fn look(args: &Args, platform: &Platform) -> Result<(Vec<Found>, Vec<Complaint>), Failure> {
    let kinds = kinds(platform).await?;
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for (kind, wanted) in wanted(args, &kinds)? {
        let mut objects = Vec::new();
        for name in &wanted.names {
            let key = name.key(&kind, &args.scope);
            match platform.objects.get(&key).await? {
                Some(object) => objects.push(object),
                None => missing.push(not_found(&kind, &key)),
            }
        }
        if wanted.names.is_empty() {
            let mut all = platform.objects.list(Some(&kind.resource)).await?;
            all.retain(|(key, object)| is_wanted(args, key, object));
            all.sort_by(|(a, _), (b, _)| a.cmp(b));
            objects = all.into_iter().map(|(_, object)| object).collect();
        }
        found.push(Found { kind, objects, named: !wanted.names.is_empty() });
    }
    Ok((found, missing))
}

fn is_wanted(args: &Args, key: &ObjectKey, object: &Object) -> bool {
    args.scope.takes(key) && args.selector.as_ref().is_none_or(|selector| selector.matches(object))
}

/// `all` stands for the kinds that people come to look at.
fn wanted(args: &Args, kinds: &Kinds) -> Result<Vec<(Kind, Wanted)>, Failure> {
    let mut all = Vec::new();
    for wanted in parse(&args.what)? {
        if wanted.kind == "all" && wanted.names.is_empty() {
            for spelling in ["gitstatestores", "destinations", "promises"] {
                all.push(kinds.spelled(spelling)?);
            }
            all.extend(kinds.of_requests());
            return Ok(all.into_iter().map(|kind| (kind, wanted.clone())).collect());
        }
    }
    parse(&args.what)?.into_iter().map(|wanted| Ok((kinds.spelled(&wanted.kind)?, wanted))).collect()
}

fn show(args: &Args, found: &[Found], console: &Console) -> Result<(), Failure> {
    let all: Vec<Object> =
        found.iter().flat_map(|found| found.objects.iter().cloned()).map(showable).collect();
    let single = all.len() == 1 && found.iter().any(|found| found.named);
    let wide = match args.output {
        Format::Yaml | Format::Json if all.is_empty() && found.iter().any(|found| found.named) => {
            return Ok(());
        }
        Format::Json => return console.print(&structured(&list(&all, single), true)?),
        Format::Yaml if single => return console.print(&structured(&all[0], false)?),
        Format::Yaml => return console.print(&structured(&list(&all, single), false)?),
        Format::Table => false,
        Format::Wide => true,
    };
    if all.is_empty() {
        if !found.iter().any(|found| found.named) {
            console.say("no objects found");
        }
        return Ok(());
    }
    let now = runtime::clock::Clock::System.now();
    let view = View { wide, namespaces: args.scope.all_namespaces, qualified: found.len() > 1, now };
    let tables = found.iter().filter(|found| !found.objects.is_empty());
    let tables: Vec<String> = tables.map(|found| table(&found.kind, &found.objects, view)).collect();
    console.print(&tables.join("\n"))
}
