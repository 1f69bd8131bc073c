//! Artifacts: plans, outputs, inputs, logs; stored by the digest of their bytes.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use async_nats::jetstream::object_store::{InfoErrorKind, ObjectStore};
use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use domain::digest::Digest;
use lru::LruCache;
use messages::subject::bucket;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bus::{self, Bus};

/// Small artifacts are kept in memory, 32 MiB at the most; larger ones are read each time.
const CACHED: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");
const CACHEABLE: usize = 32 << 10;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("artifact {0} is missing")]
    Missing(Digest),
    #[error("artifact {digest}: its bytes have another digest, {found}")]
    Damaged { digest: Digest, found: Digest },
    #[error("artifact {digest} is not what was expected")]
    Shape { digest: Digest, source: serde_json::Error },
    #[error("storing artifact {digest}")]
    Put { digest: Digest, source: async_nats::jetstream::object_store::PutError },
    #[error("reading artifact {digest}")]
    Get { digest: Digest, source: Box<dyn std::error::Error + Send + Sync> },
}

#[derive(Clone)]
pub struct Artifacts {
    store: ObjectStore,
    /// The stream behind it.
    stream: Stream<()>,
    cache: Arc<Mutex<LruCache<Digest, Bytes>>>,
}

impl Artifacts {
    pub async fn open(bus: &Bus) -> Result<Self, bus::Error> {
        let store = bus.jetstream().get_object_store(bucket::ARTIFACTS).await;
        let store = store
            .map_err(|source| bus::Error::Stream { name: bucket::ARTIFACTS.into(), source: source.into() })?;
        let name = bucket::ARTIFACTS_STREAM;
        let stream = bus
            .jetstream()
            .get_stream_no_info(name)
            .await
            .map_err(|e| bus::Error::Stream { name: name.into(), source: e.into() })?;
        Ok(Self { store, stream, cache: Arc::new(Mutex::new(LruCache::new(CACHED))) })
    }

    pub async fn put(&self, bytes: Bytes) -> Result<Digest, Error> {
        let digest = Digest::of(&bytes);
        if self.cached(&digest).is_some() {
            return Ok(digest);
        }
        // Storing it again would replace its chunks under a reader's eyes.
        if self.store.info(digest.as_str()).await.is_ok() {
            self.remember(&digest, &bytes);
            return Ok(digest);
        }
        let put = self.store.put(digest.as_str(), &mut &bytes[..]).await;
        put.map_err(|source| Error::Put { digest: digest.clone(), source })?;
        self.remember(&digest, &bytes);
        Ok(digest)
    }

    pub async fn put_json(&self, value: &impl Serialize) -> Result<Digest, Error> {
        let bytes = serde_json::to_vec(value);
        let digest = Digest::of_json(value);
        let bytes = bytes.map_err(|source| Error::Shape { digest: digest.clone(), source })?;
        self.put(bytes.into()).await
    }

    pub async fn get(&self, digest: &Digest) -> Result<Bytes, Error> {
        if let Some(bytes) = self.cached(digest) {
            return Ok(bytes);
        }
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| Error::Get { digest: digest.clone(), source };
        let info = match self.store.info(digest.as_str()).await {
            Ok(info) => info,
            Err(error) if error.kind() == InfoErrorKind::NotFound => {
                return Err(Error::Missing(digest.clone()));
            }
            Err(error) => return Err(failed(error.into())),
        };
        // Chunk by chunk: the library's own reader makes a consumer each time, which the server keeps for minutes.
        let chunks = format!("$O.{}.C.{}", bucket::ARTIFACTS, info.nuid);
        let (mut bytes, mut sequence) = (Vec::with_capacity(info.size), 0);
        for _ in 0..info.chunks {
            let chunk = self.stream.direct_get_next_for_subject(chunks.clone(), Some(sequence + 1)).await;
            let chunk = chunk.map_err(|error| failed(error.into()))?;
            sequence = chunk.sequence;
            bytes.extend_from_slice(&chunk.payload);
        }
        let found = Digest::of(&bytes);
        if found != *digest {
            return Err(Error::Damaged { digest: digest.clone(), found });
        }
        let bytes = Bytes::from(bytes);
        self.remember(digest, &bytes);
        Ok(bytes)
    }

    pub async fn get_json<T: DeserializeOwned>(&self, digest: &Digest) -> Result<T, Error> {
        let bytes = self.get(digest).await?;
        serde_json::from_slice(&bytes).map_err(|source| Error::Shape { digest: digest.clone(), source })
    }

    fn cached(&self, digest: &Digest) -> Option<Bytes> {
        // Nothing between lock and unlock can panic, so a poisoned lock cannot occur; then simply nothing is cached.
        self.cache.lock().ok()?.get(digest).cloned()
    }

    fn remember(&self, digest: &Digest, bytes: &Bytes) {
        if bytes.len() <= CACHEABLE
            && let Ok(mut cache) = self.cache.lock()
        {
            cache.put(digest.clone(), bytes.clone());
        }
    }
}
