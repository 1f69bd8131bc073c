//! One file per command: its arguments, and what it does with them.

pub(crate) mod apply;
pub(crate) mod completion;
pub(crate) mod delete;
pub(crate) mod describe;
pub(crate) mod events;
pub(crate) mod get;
pub(crate) mod inflate;
pub(crate) mod label;
pub(crate) mod logs;
pub(crate) mod up;
pub(crate) mod version;

use domain::problem::Problem;
use runtime::Platform;

use crate::complaint::{Complaint, Subject};
use crate::failure::Failure;
use crate::kinds::{Kind, Kinds, promises};
use domain::id::ObjectKey;

/// The kinds that the system knows, its Promises' included.
async fn kinds(platform: &Platform) -> Result<Kinds, Failure> {
    let promises = platform.objects.list(Some(&promises())).await?;
    Ok(Kinds::of(promises.iter().map(|(_, promise)| promise)))
}

fn not_found(kind: &Kind, key: &ObjectKey) -> Complaint {
    let object = Some(Subject::of_key(&kind.name, key));
    Complaint { object, location: None, problem: Problem::error("not-found", "", "there is no such object") }
}
