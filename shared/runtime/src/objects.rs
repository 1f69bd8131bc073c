//! The objects port: what the API server does for Kubernetes, and the embedded bucket does on a laptop.

mod embedded;
mod snapshot;

pub use embedded::Embedded;
pub use snapshot::Snapshot;

use async_trait::async_trait;
use domain::id::{ObjectKey, ResourceKind, ResourceVersion};
use futures::stream::BoxStream;
use resources::Object;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("`{0}` cannot be the key of an object: a part of it is no name")]
    InvalidKey(ObjectKey),
    #[error("{0} is not there")]
    NotFound(ObjectKey),
    #[error("{0} is there already")]
    Exists(ObjectKey),
    /// Read it again and decide again.
    #[error("{0} has changed since it was read")]
    Conflict(ObjectKey),
    #[error("{key} is larger than {limit} bytes")]
    TooLarge { key: ObjectKey, limit: usize },
    #[error("{key}: what is stored cannot be read")]
    Damaged { key: ObjectKey, source: serde_json::Error },
    #[error("objects: {action}")]
    Unavailable { action: String, source: Box<dyn std::error::Error + Send + Sync> },
}

#[derive(Clone, Debug)]
pub enum Event {
    /// Created or changed.
    Applied(ObjectKey, Box<Object>, ResourceVersion),
    Deleted(ObjectKey, ResourceVersion),
    /// All that was there when the watch began has been delivered.
    Synced,
}

/// Objects by key. Every write is a compare-and-set on `metadata.resourceVersion`.
#[async_trait]
pub trait Objects: Send + Sync {
    async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, Error>;

    /// Of one kind, or all.
    async fn list(&self, kind: Option<&ResourceKind>) -> Result<Vec<(ObjectKey, Object)>, Error>;

    /// Gives uid, creation time, generation 1.
    async fn create(&self, key: &ObjectKey, object: Object) -> Result<Object, Error>;

    /// Everything but `status`. The generation moves when `spec` does; an object under deletion whose last
    /// finalizer is taken off is removed.
    async fn update(&self, key: &ObjectKey, object: Object) -> Result<Object, Error>;

    /// `status` only.
    async fn update_status(&self, key: &ObjectKey, object: Object) -> Result<Object, Error>;

    /// Marks an object with finalizers, removes one without. None: it was not there or is removed.
    async fn delete(&self, key: &ObjectKey) -> Result<Option<Object>, Error>;

    /// What is there, then every change, of these kinds.
    async fn watch(&self, kinds: &[ResourceKind]) -> Result<BoxStream<'static, Result<Event, Error>>, Error>;
}

/// The version as a number that orders the writes of one object.
pub fn version_of(object: &Object) -> ResourceVersion {
    ResourceVersion(
        object.metadata.resource_version.as_ref().and_then(|v| v.parse().ok()).unwrap_or_default(),
    )
}
