//! Objects in a KV bucket, with the API server's habits. Secrets have a bucket of their own.

use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::kv::{CreateErrorKind, Operation, Store, UpdateErrorKind};
use async_trait::async_trait;
use domain::id::{ObjectKey, ResourceKind, ResourceVersion};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use messages::subject::bucket;
use resources::Object;

use super::{Error, Event, Objects, version_of};
use crate::bus::{self, Bus, Register};
use crate::clock::{Clock, rfc3339};

/// Largest object, in bytes of JSON: as the API server.
const LARGEST: usize = 3 << 19;

pub struct Embedded {
    objects: Store,
    secrets: Store,
    /// The same buckets, to be read as a whole.
    object_table: Register,
    secret_table: Register,
    clock: Clock,
}

fn unavailable(action: &str) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> Error {
    move |source| Error::Unavailable { action: action.into(), source }
}

impl Embedded {
    pub async fn open(bus: &Bus, clock: Clock) -> Result<Self, bus::Error> {
        let open = async |name: &str| {
            let store = bus.jetstream().get_key_value(name).await;
            store.map_err(|source| bus::Error::Stream { name: name.into(), source: source.into() })
        };
        Ok(Self {
            objects: open(bucket::OBJECTS).await?,
            secrets: open(bucket::SECRETS).await?,
            object_table: Register::open(bus, bucket::OBJECTS_STREAM).await?,
            secret_table: Register::open(bus, bucket::SECRETS_STREAM).await?,
            clock,
        })
    }

    fn store(&self, kind: &ResourceKind) -> &Store {
        if is_secret(kind) { &self.secrets } else { &self.objects }
    }

    fn table(&self, kind: &ResourceKind) -> &Register {
        if is_secret(kind) { &self.secret_table } else { &self.object_table }
    }

    async fn write(
        &self,
        key: &ObjectKey,
        mut object: Object,
        expected: ResourceVersion,
    ) -> Result<Object, Error> {
        let bytes = encode(key, &object)?;
        let written = self.store(&key.kind).update(key.to_string(), bytes.into(), expected.0).await;
        let revision = written.map_err(|error| match error.kind() {
            UpdateErrorKind::WrongLastRevision => Error::Conflict(key.clone()),
            _ => unavailable("update")(error.into()),
        })?;
        object.metadata.resource_version = Some(revision.to_string());
        Ok(object)
    }

    async fn remove(&self, key: &ObjectKey, expected: ResourceVersion) -> Result<(), Error> {
        let removed = self.store(&key.kind).delete_expect_revision(key.to_string(), Some(expected.0)).await;
        // The only error that a precondition adds is that the object has moved; reading again tells.
        removed.map_err(|error| {
            tracing::debug!(%error, %key, "delete");
            Error::Conflict(key.clone())
        })
    }

    async fn current(&self, key: &ObjectKey, object: &Object) -> Result<Object, Error> {
        let current = self.get(key).await?.ok_or_else(|| Error::NotFound(key.clone()))?;
        if version_of(object) == version_of(&current) {
            Ok(current)
        } else {
            Err(Error::Conflict(key.clone()))
        }
    }
}

/// Header of an entry that marks a deletion.
const OPERATION: &str = "KV-Operation";

fn is_secret(kind: &ResourceKind) -> bool {
    *kind == ResourceKind::new("secrets", "")
}

fn bucket_of(kind: &ResourceKind) -> &'static str {
    if is_secret(kind) { bucket::SECRETS } else { bucket::OBJECTS }
}

/// The version stands in the bucket itself.
fn encode(key: &ObjectKey, object: &Object) -> Result<Vec<u8>, Error> {
    let mut stored = object.clone();
    stored.metadata.resource_version = None;
    let bytes = serde_json::to_vec(&stored).map_err(|source| Error::Damaged { key: key.clone(), source })?;
    if bytes.len() > LARGEST {
        return Err(Error::TooLarge { key: key.clone(), limit: LARGEST });
    }
    Ok(bytes)
}

fn decode(key: &ObjectKey, bytes: &[u8], revision: u64) -> Result<Object, Error> {
    let object: Result<Object, _> = serde_json::from_slice(bytes);
    let mut object = object.map_err(|source| Error::Damaged { key: key.clone(), source })?;
    object.metadata.resource_version = Some(revision.to_string());
    Ok(object)
}

#[async_trait]
impl Objects for Embedded {
    async fn get(&self, key: &ObjectKey) -> Result<Option<Object>, Error> {
        if !key.is_well_formed() {
            return Err(Error::InvalidKey(key.clone()));
        }
        let entry = self.store(&key.kind).entry(key.to_string()).await;
        match entry.map_err(|error| unavailable("get")(error.into()))? {
            Some(entry) if entry.operation == Operation::Put => {
                decode(key, &entry.value, entry.revision).map(Some)
            }
            Some(_) | None => Ok(None),
        }
    }

    async fn list(&self, kind: Option<&ResourceKind>) -> Result<Vec<(ObjectKey, Object)>, Error> {
        let table = kind.map_or(&self.object_table, |kind| self.table(kind));
        let prefix = format!("$KV.{}.", kind.map_or(bucket::OBJECTS, |kind| bucket_of(kind)));
        let filter = kind.map_or_else(|| format!("{prefix}>"), |kind| format!("{prefix}{}.>", kind.token()));
        let all = table.scan(&filter).await.map_err(|error| unavailable("list")(error.into()))?;
        let there = all.into_iter().filter(|latest| latest.header(OPERATION).is_none());
        let found = there.filter_map(|latest| {
            let key: ObjectKey = latest.subject.strip_prefix(&prefix)?.parse().ok()?;
            match decode(&key, &latest.payload, latest.sequence) {
                Ok(object) => Some((key, object)),
                Err(error) => {
                    // One object that cannot be read must not stop the others.
                    tracing::error!(%key, error = crate::telemetry::chain(&error), "an object is left out");
                    None
                }
            }
        });
        Ok(found.collect())
    }

    async fn create(&self, key: &ObjectKey, mut object: Object) -> Result<Object, Error> {
        let meta = &mut object.metadata;
        meta.uid = Some(uuid::Uuid::new_v4().to_string());
        meta.generation = Some(1);
        meta.creation_timestamp = Some(rfc3339(self.clock.now()));
        meta.deletion_timestamp = None;
        object.body.remove("status");
        let bytes = encode(key, &object)?;
        let created = self.store(&key.kind).create(key.to_string(), bytes.into()).await;
        let revision = created.map_err(|error| match error.kind() {
            CreateErrorKind::AlreadyExists => Error::Exists(key.clone()),
            _ => unavailable("create")(error.into()),
        })?;
        object.metadata.resource_version = Some(revision.to_string());
        Ok(object)
    }

    async fn update(&self, key: &ObjectKey, mut object: Object) -> Result<Object, Error> {
        let current = self.current(key, &object).await?;
        let (old, new) = (&current.metadata, &mut object.metadata);
        (new.uid, new.creation_timestamp) = (old.uid.clone(), old.creation_timestamp.clone());
        new.deletion_timestamp.clone_from(&old.deletion_timestamp);
        new.generation = old.generation;
        match current.body.get("status") {
            Some(status) => object.body.insert("status".into(), status.clone()),
            None => object.body.remove("status"),
        };
        if object.spec() != current.spec() {
            object.metadata.generation = Some(object.metadata.generation.unwrap_or_default() + 1);
        }
        let version = version_of(&current);
        if object.metadata.deletion_timestamp.is_some() && object.metadata.finalizers.is_empty() {
            self.remove(key, version).await?;
            return Ok(object);
        }
        if object == current {
            return Ok(object);
        }
        self.write(key, object, version).await
    }

    async fn update_status(&self, key: &ObjectKey, object: Object) -> Result<Object, Error> {
        let mut current = self.current(key, &object).await?;
        let status = object.body.get("status").cloned();
        if current.body.get("status") == status.as_ref() {
            return Ok(current);
        }
        match status {
            Some(status) => current.body.insert("status".into(), status),
            None => current.body.remove("status"),
        };
        let version = version_of(&current);
        self.write(key, current, version).await
    }

    async fn delete(&self, key: &ObjectKey) -> Result<Option<Object>, Error> {
        loop {
            let Some(mut object) = self.get(key).await? else { return Ok(None) };
            let version = version_of(&object);
            let result = if object.metadata.finalizers.is_empty() {
                self.remove(key, version).await.map(|()| None)
            } else if object.metadata.deletion_timestamp.is_some() {
                return Ok(Some(object));
            } else {
                object.metadata.deletion_timestamp = Some(rfc3339(self.clock.now()));
                object.metadata.generation = Some(object.metadata.generation.unwrap_or_default() + 1);
                self.write(key, object, version).await.map(Some)
            };
            match result {
                Err(Error::Conflict(_)) => {} // a status was written meanwhile: read and mark again
                other => return other,
            }
        }
    }

    async fn watch(&self, kinds: &[ResourceKind]) -> Result<BoxStream<'static, Result<Event, Error>>, Error> {
        let store = kinds.first().map_or(&self.objects, |kind| self.store(kind));
        let prefix = store.prefix.clone();
        let filter_subjects = match kinds {
            [] => vec![format!("{prefix}>")],
            kinds => kinds.iter().map(|kind| format!("{prefix}{}.>", kind.token())).collect(),
        };
        let failed = unavailable("watch");
        let config = pull::OrderedConfig {
            filter_subjects,
            deliver_policy: DeliverPolicy::LastPerSubject,
            ..pull::OrderedConfig::default()
        };
        let consumer = store.stream.create_consumer(config).await.map_err(|error| failed(error.into()))?;
        let mut left = consumer.cached_info().num_pending;
        let messages = consumer.messages().await.map_err(|error| failed(error.into()))?;
        let first = stream::iter((left == 0).then_some(Ok(Event::Synced)));
        let rest = messages.flat_map(move |message| {
            let mut events = Vec::new();
            match message {
                Ok(message) => events.extend(event_of(&message, &prefix)),
                Err(error) => events.push(Err(unavailable("watch")(error.into()))),
            }
            if left > 0 {
                left -= 1;
                if left == 0 {
                    events.push(Ok(Event::Synced));
                }
            }
            stream::iter(events)
        });
        Ok(first.chain(rest).boxed())
    }
}

/// None for what is no object of ours.
fn event_of(message: &async_nats::jetstream::Message, prefix: &str) -> Option<Result<Event, Error>> {
    let key: ObjectKey = message.subject.strip_prefix(prefix)?.parse().ok()?;
    let revision = message.info().ok()?.stream_sequence;
    let removed = message.headers.as_ref().is_some_and(|headers| headers.get(OPERATION).is_some());
    if removed {
        return Some(Ok(Event::Deleted(key, ResourceVersion(revision))));
    }
    let object = decode(&key, &message.payload, revision);
    Some(object.map(|object| Event::Applied(key, Box::new(object), ResourceVersion(revision))))
}
