//! State stores: the Git repositories and buckets that Destinations are in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `spec` of a GitStateStore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitStateStoreSpec {
    /// `https://`, `ssh://`, `user@host:path`, or `file:///absolute`.
    pub url: String,
    /// Directory that all Destinations of the store are below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default = "main_branch")]
    pub branch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    #[serde(default)]
    pub auth_method: GitAuthMethod,
    #[serde(default)]
    pub git_author: GitAuthor,
}

fn main_branch() -> String {
    "main".into()
}

/// Which keys the Secret has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum GitAuthMethod {
    #[default]
    BasicAuth,
    Ssh,
    GithubApp,
}

/// Author of the commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitAuthor {
    #[serde(default = "kratix_author", skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

fn kratix_author() -> String {
    "kratix".into()
}

impl Default for GitAuthor {
    fn default() -> Self {
        Self { name: kratix_author(), email: None }
    }
}

/// A Secret; without a namespace it is in `default`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SecretRef {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// `spec` of a BucketStateStore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BucketStateStoreSpec {
    pub bucket_name: String,
    pub endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,
    /// Plain http.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub insecure: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub use_dual_stack: bool,
    #[serde(default)]
    pub auth_method: BucketAuthMethod,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BucketAuthMethod {
    #[default]
    #[serde(rename = "accessKey")]
    AccessKey,
    #[serde(rename = "IAM")]
    Iam,
}
