//! Labels, annotations, finalizers and groups, each written once.

/// Group of all Kratix kinds.
pub const KRATIX_GROUP: &str = "platform.kratix.io";
/// Group of all Kargo kinds.
pub const KARGO_GROUP: &str = "kargo.akuity.io";
/// The one version of both groups.
pub const V1ALPHA1: &str = "v1alpha1";

/// `apiVersion` of every Kratix kind, and of a Pipeline inside a Promise.
pub const KRATIX_API_VERSION: &str = "platform.kratix.io/v1alpha1";
/// `apiVersion` of a Promise's API.
pub const CRD_API_VERSION: &str = "apiextensions.k8s.io/v1";

/// On a request: the Promise it belongs to. Set at admission.
pub const PROMISE_NAME_LABEL: &str = "kratix.io/promise-name";
/// On a Promise: its version, free text.
pub const PROMISE_VERSION_LABEL: &str = "kratix.io/promise-version";
/// On a Promise: overrides `reconciliationInterval`.
pub const RECONCILIATION_INTERVAL_ANNOTATION: &str = "kratix.io/reconciliation-interval";

/// Holds a Promise or request until its delete pipelines ran and its files are gone.
pub const WORKFLOWS_FINALIZER: &str = "kratix.io/workflows-cleanup";

/// The manifest that was applied last, as JSON; fields that vanish from it are removed from the object.
pub const LAST_APPLIED_ANNOTATION: &str = "millrace.dev/last-applied";
/// The same, by `kubectl apply`.
pub const KUBECTL_LAST_APPLIED_ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The directory whose sync created the object, absolute.
pub const ORIGIN_DIRECTORY_ANNOTATION: &str = "millrace.dev/origin-directory";
/// The file in it, relative.
pub const ORIGIN_FILE_ANNOTATION: &str = "millrace.dev/origin-file";
/// Digest of the document it came from.
pub const ORIGIN_DIGEST_ANNOTATION: &str = "millrace.dev/origin-digest";
