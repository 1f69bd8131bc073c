//! A live copy of all objects of some kinds, for decisions that need many of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::id::{ObjectKey, ResourceKind, ResourceVersion};
use futures::StreamExt;
use resources::Object;
use tokio::sync::watch;

use super::{Error, Event, Objects};
use crate::shutdown::Shutdown;

/// What the copy holds at one moment.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub objects: BTreeMap<ObjectKey, Arc<Object>>,
    /// Version of the newest change that went in, deletions included.
    pub revision: ResourceVersion,
}

/// A handle; every copy reads the same contents.
#[derive(Clone, Debug)]
pub struct Snapshot {
    contents: watch::Receiver<Arc<Contents>>,
}

impl Snapshot {
    /// Returns once everything that is there has been read. Follows until the shutdown.
    pub async fn follow(
        objects: Arc<dyn Objects>,
        kinds: Vec<ResourceKind>,
        shutdown: Shutdown,
    ) -> Result<Self, Error> {
        let (sender, contents) = watch::channel(Arc::new(Contents::default()));
        let mut events = objects.watch(&kinds).await?;
        let mut first = Contents::default();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Synced) => break,
                Ok(event) => take(&mut first, event),
                Err(error) => report(&error),
            }
        }
        sender.send_replace(Arc::new(first));
        tokio::spawn(async move {
            let mut shutdown = shutdown;
            loop {
                tokio::select! {
                    () = shutdown.requested() => return,
                    event = events.next() => match event {
                        Some(Ok(event)) => sender.send_modify(|contents| take(Arc::make_mut(contents), event)),
                        Some(Err(error)) => report(&error),
                        None => match objects.watch(&kinds).await {
                            Ok(again) => events = again,
                            Err(error) => report(&error),
                        },
                    },
                }
            }
        });
        Ok(Self { contents })
    }

    pub fn now(&self) -> Arc<Contents> {
        self.contents.borrow().clone()
    }

    /// Returns at the next change, or never when following has ended.
    pub async fn changed(&mut self) {
        if self.contents.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns once a change at least as new as this one has been read.
    pub async fn reached(&mut self, revision: ResourceVersion) {
        if self.contents.wait_for(|contents| contents.revision >= revision).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns once this object is not there.
    pub async fn without(&mut self, key: &ObjectKey) {
        if self.contents.wait_for(|contents| !contents.objects.contains_key(key)).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn take(contents: &mut Contents, event: Event) {
    match event {
        Event::Applied(key, object, revision) => {
            contents.objects.insert(key, Arc::from(object));
            contents.revision = contents.revision.max(revision);
        }
        Event::Deleted(key, revision) => {
            contents.objects.remove(&key);
            contents.revision = contents.revision.max(revision);
        }
        Event::Synced => {}
    }
}

/// One object that cannot be read must not stop the others.
fn report(error: &Error) {
    tracing::warn!(error = crate::telemetry::chain(error), "an object is left out");
}
