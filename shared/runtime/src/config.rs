//! Configuration: file, then environment, then flags; typed, with every default in one place.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What a service must know to find the bus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "snake_case", deny_unknown_fields)]
pub struct BusConfig {
    /// `nats://host:port`.
    pub url: String,
    /// File with the nkey seed that authenticates this service.
    pub nkey_file: Option<PathBuf>,
    /// Copies of each stream: 1 on a laptop, 3 in production.
    pub replicas: usize,
}

impl Default for BusConfig {
    fn default() -> Self {
        Self { url: "nats://127.0.0.1:4222".into(), nkey_file: None, replicas: 1 }
    }
}

/// Everything a service binary can be told.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "snake_case", deny_unknown_fields)]
pub struct ServiceConfig {
    pub bus: BusConfig,
    /// Log filter, default `info`.
    pub log: Option<String>,
    /// Directory for caches and locks of this host.
    pub state: Option<PathBuf>,
    /// `--image` mappings of the process runner: `REF=rootfs:DIR`, `REF=scripts:DIR`.
    pub images: Vec<String>,
    /// Jobs that this job-runner runs at a time.
    pub slots: Option<usize>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("configuration{}", file.as_ref().map(|file| format!(" of {}", file.display())).unwrap_or_default())]
    Invalid { file: Option<PathBuf>, source: Box<config::ConfigError> },
}

/// Variables that are configuration; `MILLRACE_NATS_SERVER` and others are not.
const VARIABLES: [&str; 5] =
    ["MILLRACE_BUS__", "MILLRACE_LOG", "MILLRACE_STATE", "MILLRACE_IMAGES", "MILLRACE_SLOTS"];

/// Reads `file` when there is one, then the environment: `MILLRACE_BUS__URL` is `bus.url`.
pub fn load(file: Option<&Path>) -> Result<ServiceConfig, Error> {
    let mut builder = config::Config::builder();
    if let Some(file) = file {
        builder = builder.add_source(config::File::from(file).format(config::FileFormat::Yaml));
    }
    let ours =
        std::env::vars().filter(|(name, _)| VARIABLES.iter().any(|variable| name.starts_with(variable)));
    let environment = config::Environment::with_prefix("MILLRACE").prefix_separator("_").separator("__");
    let environment = environment.source(Some(ours.collect()));
    builder
        .add_source(environment.list_separator(",").with_list_parse_key("images").try_parsing(true))
        .build()
        .and_then(config::Config::try_deserialize)
        .map_err(|source| Error::Invalid { file: file.map(Into::into), source: Box::new(source) })
}
