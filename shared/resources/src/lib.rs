//! The objects that people write and read, one type each: Kratix', those of the core group, and any request.
//!
//! | owns | does not own |
//! |---|---|
//! | fields, defaults and schemas as upstream's `v1alpha1` has them, names of kinds, labels, finalizers | what is allowed and what follows from it (`inflation`), decisions (`domain`) |
//!
//! Depends on nothing of ours. Reading order: [`object`], [`kinds`], [`promise`], [`pipeline`], [`api`].

pub mod api;
pub mod condition;
pub mod data;
pub mod destination;
pub mod duration;
pub mod keys;
pub mod kinds;
pub mod meta;
pub mod object;
pub mod pipeline;
pub mod promise;
pub mod store;
pub mod structural;

pub use api::Crd;
pub use condition::Condition;
pub use destination::DestinationSpec;
pub use kinds::{KnownKind, Support};
pub use meta::ObjectMeta;
pub use object::Object;
pub use pipeline::Pipeline;
pub use promise::PromiseSpec;
pub use store::{BucketStateStoreSpec, GitStateStoreSpec};
