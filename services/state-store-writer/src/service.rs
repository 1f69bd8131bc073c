//! One queue per state store, so that a dead store holds up nobody else; each queue's backlog is one commit.
//!
//! fetch what is queued -> load the records -> decide the changes -> commit and push -> RESULT -> ack.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::footprint::StoreId;
use domain::id::{ObjectKey, ResourceKind};
use messages::subject::{self, durable, stream};
use resources::keys::KRATIX_GROUP;
use resources::{GitStateStoreSpec, Object};
use runtime::bus::{ConsumerSpec, Delivery, Disposition, Records};
use runtime::objects::Snapshot;
use runtime::shutdown::Shutdown;
use runtime::telemetry::chain;
use runtime::{Platform, artifacts, bus, objects};

use crate::commit_message::Author;
use crate::store::git::{DEFAULT_TIMEOUT, GitStore, Settings};
use crate::store::{self, Revision, StateStore};

/// Placements that go into one commit at the most: bounds memory, and what one refusal repeats.
const BATCH: usize = 500;
/// How long writes wait when their replica has died.
const ACK_WAIT: Duration = Duration::from_secs(5);
const PROGRESS: Duration = Duration::from_millis(1500);

#[derive(Clone, Debug)]
pub struct Options {
    /// Directory for the mirrors of repositories; only a cache.
    pub cache: PathBuf,
    /// Where `git` is found, in the form of `PATH`.
    pub search_path: OsString,
    /// The most that one git command may take.
    pub timeout: Duration,
}

impl Options {
    /// The cache below a state directory that no other process uses, everything else as usual.
    pub fn in_directory(state: &Path) -> Self {
        Self {
            cache: state.join("mirrors"),
            search_path: std::env::var_os("PATH").unwrap_or_default(),
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Bus(#[from] bus::Error),
    #[error(transparent)]
    Objects(#[from] objects::Error),
    #[error(transparent)]
    Artifact(#[from] artifacts::Error),
    #[error(transparent)]
    Archive(#[from] runtime::pack::Error),
    #[error(transparent)]
    Store(#[from] store::Error),
}

pub(crate) struct Writer {
    pub(crate) platform: Platform,
    pub(crate) records: Records,
    /// Destinations and stores.
    pub(crate) places: Snapshot,
    options: Options,
}

/// Runs until the shutdown. A store that appears gets its queue, one that fails fails alone.
pub async fn run(platform: Platform, options: Options, mut shutdown: Shutdown) -> Result<(), Error> {
    let kinds = ["destinations", "gitstatestores"].map(|plural| ResourceKind::new(plural, KRATIX_GROUP));
    let places = Snapshot::follow(platform.objects.clone(), kinds.to_vec(), shutdown.clone()).await?;
    let records = Records::open(&platform.bus).await?;
    let writer = Arc::new(Writer { platform, records, places: places.clone(), options });
    let (mut known, mut queues) = (HashSet::new(), tokio::task::JoinSet::new());
    let mut changes = places;
    while !shutdown.is_requested() {
        for key in changes.now().objects.keys().filter(|key| key.kind.plural == "gitstatestores") {
            if known.insert(key.clone()) {
                queues.spawn(writer.clone().queue(key.clone(), shutdown.clone()));
            }
        }
        tokio::select! {
            () = shutdown.requested() => {}
            () = changes.changed() => {}
        }
    }
    queues.join_all().await;
    Ok(())
}

/// A state store, as an object and as a token.
#[derive(Clone, Debug)]
pub(crate) struct StoreName {
    pub(crate) key: ObjectKey,
    pub(crate) id: StoreId,
}

/// The open repositories of one store: its own, and those that it pointed at before.
pub(crate) struct Repositories {
    pub(crate) name: StoreName,
    open: HashMap<(String, String), Open>,
}

/// A branch of a repository.
pub(crate) struct Open {
    pub(crate) store: Box<dyn StateStore>,
    /// Where it was seen last; none: it is to be looked at.
    pub(crate) head: Option<Revision>,
}

impl Writer {
    async fn queue(self: Arc<Self>, store: ObjectKey, mut shutdown: Shutdown) {
        let id = StoreId::of(&store);
        let name = StoreName { key: store, id: id.clone() };
        let mut repositories = Repositories { name, open: HashMap::new() };
        let spec = ConsumerSpec {
            stream: stream::WRITE,
            durable: durable::write(&id),
            filter: subject::writes_of(&id),
            ack_wait: ACK_WAIT,
            max_ack_pending: 1000,
        };
        while !shutdown.is_requested() {
            if let Err(error) = self.serve(&mut repositories, &spec, &mut shutdown).await {
                tracing::warn!(store = %id, error = chain(&error), "no writes for a moment");
                tokio::select! {
                    () = shutdown.requested() => {}
                    () = tokio::time::sleep(Duration::from_millis(500)) => {}
                }
            }
        }
    }

    async fn serve(
        &self,
        repositories: &mut Repositories,
        spec: &ConsumerSpec,
        shutdown: &mut Shutdown,
    ) -> Result<(), bus::Error> {
        let consumer = self.platform.bus.consumer(spec).await?;
        while !shutdown.is_requested() {
            let batch = self.platform.bus.fetch(&consumer, BATCH, shutdown).await?;
            self.write(repositories, batch).await;
        }
        Ok(())
    }

    /// Writes one batch and settles its messages.
    async fn write(&self, repositories: &mut Repositories, batch: Vec<Delivery>) {
        if batch.is_empty() {
            return;
        }
        let full = batch.len() >= BATCH;
        let dispositions = self.write_alive(repositories, &batch).await;
        for (delivery, disposition) in batch.into_iter().zip(dispositions) {
            delivery.settle(&self.platform.bus, disposition).await;
        }
        if !full {
            for repository in repositories.open.values_mut() {
                if let Err(error) = repository.store.upkeep().await {
                    tracing::warn!(error = chain(&error), "upkeep is tried again after the next batch");
                }
            }
        }
    }

    /// Writes the batch, and tells the server all the while that it is being worked on.
    async fn write_alive(&self, repositories: &mut Repositories, batch: &[Delivery]) -> Vec<Disposition> {
        let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS, PROGRESS);
        let written = self.write_batch(repositories, batch);
        tokio::pin!(written);
        loop {
            tokio::select! {
                dispositions = &mut written => return dispositions,
                _ = ticks.tick() => {
                    for delivery in batch {
                        delivery.progress().await;
                    }
                }
            }
        }
    }

    /// The repository and branch, opened when needed, by the store's current settings.
    pub(crate) fn repository<'a>(
        &self,
        repositories: &'a mut Repositories,
        url: &str,
        branch: &str,
    ) -> Result<&'a mut Open, Error> {
        let key = (url.to_owned(), branch.to_owned());
        if !repositories.open.contains_key(&key) {
            let store = self.open(&repositories.name, url, branch)?;
            repositories.open.insert(key.clone(), Open { store, head: None });
        }
        let unusable = || store::Error::Unusable {
            store: repositories.name.key.readable(),
            reason: "it is closed".into(),
        };
        repositories.open.get_mut(&key).ok_or_else(|| unusable().into())
    }

    fn open(&self, store: &StoreName, url: &str, branch: &str) -> Result<Box<dyn StateStore>, Error> {
        let name = store.key.name.clone();
        let unusable = |reason: String| store::Error::Unusable { store: name.clone(), reason };
        let contents = self.places.now();
        let object: &Object =
            contents.objects.get(&store.key).ok_or_else(|| unusable("it does not exist any more".into()))?;
        let spec: GitStateStoreSpec = object.parse_spec().map_err(|error| unusable(chain(&error)))?;
        let author = spec.git_author;
        let place = domain::digest::Digest::of(format!("{url}\n{branch}").as_bytes());
        Ok(Box::new(GitStore::new(Settings {
            store: name.clone(),
            url: url.into(),
            branch: branch.into(),
            author: Author::new(&author.name, author.email.as_deref().unwrap_or_default()),
            cache: self.options.cache.join(store.id.as_str()).join(&place.as_str()[..16]),
            search_path: self.options.search_path.clone(),
            timeout: self.options.timeout,
        })?))
    }

    /// Settings may have changed: the next batch opens what it needs again.
    pub(crate) fn close(repositories: &mut Repositories) {
        repositories.open.clear();
    }
}
