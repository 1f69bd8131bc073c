//! Whether this is a kind at all.

use domain::problem::Problem;
use resources::kinds::KNOWN_KINDS;
use resources::{KnownKind, Object};

use crate::nearest::nearest;
use crate::world::World;

pub(super) fn unknown(object: &Object, world: &World) -> Problem {
    let message = format!(
        "`{}` of `{}` is neither a kind known here nor one that a Promise offers",
        object.kind, object.api_version
    );
    let problem = Problem::error("unknown-kind", "kind", message);
    match likely(object, world) {
        Some((kind, api_version)) => problem.help(format!("did you mean `{kind}` of `{api_version}`?")),
        None => problem.help("apply the Promise that offers it first"),
    }
}

/// The same kind in another group, or the nearest kind.
fn likely(object: &Object, world: &World) -> Option<(String, String)> {
    let known =
        KNOWN_KINDS.iter().map(|known| (known.kind.to_owned(), api_version(known.group, known.versions[0])));
    let offered = world.promises.iter().filter_map(|promise| promise.api.as_ref()).filter_map(|api| {
        let version = api.served_versions().next()?;
        Some((api.spec.names.kind.clone(), api_version(&api.spec.group, &version.name)))
    });
    let all: Vec<(String, String)> = known.chain(offered).collect();
    let kind = all.iter().map(|(kind, _)| &**kind).find(|kind| kind.eq_ignore_ascii_case(&object.kind));
    let kind = kind.or_else(|| nearest(&object.kind, all.iter().map(|(kind, _)| &**kind)))?;
    all.iter().find(|(name, _)| name == kind).cloned()
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

pub(super) fn check_version(known: &KnownKind, object: &Object, problems: &mut Vec<Problem>) {
    if !known.versions.contains(&object.version()) {
        problems.push(unknown_version(object, known.versions));
    }
}

pub(super) fn unknown_version(object: &Object, served: &[&str]) -> Problem {
    let message = format!("version `{}` of {} is not served", object.version(), object.kind);
    let remedy = served.iter().map(|version| format!("`{}`", api_version(object.group(), version)));
    Problem::error("unknown-version", "apiVersion", message)
        .help(format!("use {}", remedy.collect::<Vec<_>>().join(" or ")))
}
