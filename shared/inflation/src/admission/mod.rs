//! Whether an object may be, and how it looks complete: defaults filled in, labels and finalizers of ours set, what only
//! the server writes dropped. All problems of an object at once.
//!
//! Codes of problems: `unknown-kind`, `unknown-version`, `unknown-field`, `required`, `schema` (a check of the kind's
//! schema), `name`, `label`, `immutable`, `duplicate`, `conflict` (with another object), `reserved`, `invalid` (any
//! other rule), `terminating`, `too-large`, `unsupported`; warnings: `cluster-only`, `no-effect`, `not-checked`.

mod api;
mod data;
mod destination;
mod kind;
mod metadata;
mod names;
mod parts;
mod pipelines;
mod promise;
mod request;
mod store;
pub(crate) mod url;

use domain::id::ObjectKey;
use domain::problem::Problem;
use resources::keys::{KRATIX_GROUP, LAST_APPLIED_ANNOTATION, WORKFLOWS_FINALIZER};
use resources::{KnownKind, Object, Support};
use serde_json::Value;

use crate::apply::drop_server_owned;
use crate::schema::known::{BUCKET_STORE, CONFIG_MAP, SECRET};
use crate::schema::{Schema, unknown_field};
use crate::world::{Role, World};

/// An object that may be written.
#[derive(Clone, Debug)]
pub struct Admitted {
    pub key: ObjectKey,
    pub object: Object,
    /// Warnings, and what this version does not act on.
    pub problems: Vec<Problem>,
    /// False for kinds that are taken as a no-op, such as Namespace.
    pub stored: bool,
}

/// Largest JSON of an object, in bytes, without its last-applied annotation.
pub const MAX_OBJECT: usize = 3 << 19;

/// Checks what is to be written: a new object, or (with `current`) the whole new form of one that is there.
///
/// Errors: every problem found, at least one of them an error.
pub fn admit(candidate: Object, current: Option<&Object>, world: &World) -> Result<Admitted, Vec<Problem>> {
    let mut object = candidate;
    drop_server_owned(&mut object);
    let Some(role) = world.role(&object) else {
        return Err(vec![kind::unknown(&object, world)]);
    };
    let mut problems = Vec::new();
    check_size(&object, &mut problems);
    metadata::check(&mut object, &role, &mut problems);
    match role {
        Role::Known(known) => check_known(known, &mut object, current, world, &mut problems),
        Role::Request(promise, _) => request::check(&mut object, promise, current, &mut problems),
    }
    if has_workflows(&role) && !current.is_some_and(Object::is_terminating) {
        add_finalizer(&mut object);
    }
    problems.sort_by_key(|problem| problem.severity);
    if problems.iter().any(Problem::is_error) {
        return Err(problems);
    }
    let stored = !matches!(role, Role::Known(KnownKind { support: Support::Ignored, .. }));
    Ok(Admitted { key: role.key(&object), object, problems, stored })
}

fn check_known(
    known: &'static KnownKind,
    object: &mut Object,
    current: Option<&Object>,
    world: &World,
    problems: &mut Vec<Problem>,
) {
    kind::check_version(known, object, problems);
    match (known.group, known.kind) {
        (KRATIX_GROUP, "Promise") => promise::check(object, current, world, problems),
        (KRATIX_GROUP, "Destination") => destination::check(object, current, world, problems),
        (KRATIX_GROUP, "GitStateStore") => store::check_git(object, problems),
        (KRATIX_GROUP, "BucketStateStore") => check_spec(object, &BUCKET_STORE, problems),
        ("", "Secret") => data::check_secret(object, current, problems),
        ("", "ConfigMap") => data::check_config_map(object, current, problems),
        _ => {}
    }
    if known.support == Support::KnownNotActed {
        problems.push(Problem::unsupported("kind", format!("this version does not act on a {}", known.kind)));
    }
}

fn has_workflows(role: &Role<'_>) -> bool {
    matches!(role, Role::Request(..) | Role::Known(KnownKind { group: KRATIX_GROUP, kind: "Promise", .. }))
}

fn add_finalizer(object: &mut Object) {
    let finalizers = &mut object.metadata.finalizers;
    if !finalizers.iter().any(|finalizer| finalizer == WORKFLOWS_FINALIZER) {
        finalizers.push(WORKFLOWS_FINALIZER.into());
    }
}

fn check_size(object: &Object, problems: &mut Vec<Problem>) {
    let remembered = object.annotation(LAST_APPLIED_ANNOTATION).map_or(0, str::len);
    let size = object.to_value().to_string().len().saturating_sub(remembered);
    if size > MAX_OBJECT {
        let message = format!("{size} bytes are more than the {MAX_OBJECT} that an object may have");
        problems.push(Problem::error("too-large", "", message));
    }
}

/// For kinds with a `spec` and nothing else: completes and checks it.
fn check_spec(object: &mut Object, schema: &Schema, problems: &mut Vec<Problem>) {
    for name in object.body.keys().filter(|name| *name != "spec") {
        problems.push(unknown_field(name.clone(), name, ["spec"]));
    }
    let spec = object.body.entry("spec").or_insert_with(|| Value::Object(serde_json::Map::new()));
    schema.apply(spec, "spec", problems);
}
