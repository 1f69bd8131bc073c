//! The schemas of the kinds known here, made from their types.

use std::sync::LazyLock;

use resources::data::{ConfigMapData, SecretData};
use resources::structural::schema_of;
use resources::{BucketStateStoreSpec, Crd, DestinationSpec, GitStateStoreSpec, ObjectMeta, PromiseSpec};

use super::Schema;

pub(crate) static METADATA: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema_of::<ObjectMeta>()));
pub(crate) static PROMISE: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema_of::<PromiseSpec>()));
pub(crate) static CRD: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema_of::<Crd>()));
pub(crate) static DESTINATION: LazyLock<Schema> =
    LazyLock::new(|| Schema::new(schema_of::<DestinationSpec>()));
pub(crate) static GIT_STORE: LazyLock<Schema> =
    LazyLock::new(|| Schema::new(schema_of::<GitStateStoreSpec>()));
pub(crate) static BUCKET_STORE: LazyLock<Schema> =
    LazyLock::new(|| Schema::new(schema_of::<BucketStateStoreSpec>()));
pub(crate) static SECRET: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema_of::<SecretData>()));
pub(crate) static CONFIG_MAP: LazyLock<Schema> = LazyLock::new(|| Schema::new(schema_of::<ConfigMapData>()));
