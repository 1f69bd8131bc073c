//! Reads what a pipeline left in `/kratix/metadata`: `status.yaml`, `destination-selectors.yaml` and
//! `workflow-control.yaml`. Other files there are ignored, as upstream does.

mod control;
mod selectors;
mod status;

use std::io;

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::outputs::{open_file, read_file};

pub use control::Control;
pub use selectors::{DEFAULT_DIRECTORY, Group, Selector, groups};

const STATUS: &str = "status.yaml";
const SELECTORS: &str = "destination-selectors.yaml";
const CONTROL: &str = "workflow-control.yaml";
const MAX_FILE_BYTES: u64 = 1 << 20;

/// What the three files say. One that is missing or empty says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// Keys to replace in the object's status; `conditions`, if there, is a list of mappings that name their `type`.
    pub status: Option<Map<String, Value>>,
    /// In their order in the file; no two have the same directory.
    pub selectors: Vec<Selector>,
    pub control: Option<Control>,
}

/// Each names the file, relative to `/kratix/metadata` or `/kratix/output`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{file}: cannot be read")]
    Read { file: &'static str, source: io::Error },
    #[error("{file}: larger than {MAX_FILE_BYTES} bytes")]
    TooLarge { file: &'static str },
    #[error("{file}: {message}")]
    Yaml { file: &'static str, message: String },
    #[error("{STATUS}: `{key}` is reserved")]
    ReservedStatus { key: &'static str },
    #[error("{STATUS}: `conditions` must be a list of mappings, each with a `type`")]
    Conditions,
    #[error("{SELECTORS}: entry with index {index} has no selectors")]
    NoLabels { index: usize },
    #[error("{SELECTORS}: duplicate entries for directory {directory}")]
    DuplicateDirectory { directory: String },
    #[error("{SELECTORS}: directory {directory}: sub-directories are not allowed")]
    SubDirectory { directory: String },
    #[error("{SELECTORS}: directory {directory}: must be one below the output")]
    Outside { directory: String },
    #[error("{SELECTORS}: directory {directory} does not exist in the output")]
    NoSuchDirectory { directory: String },
    #[error("{CONTROL}: retryAfter `{text}`: {why}")]
    RetryAfter { text: String, why: &'static str },
}

/// Reads and checks the three files in `directory`.
pub fn read(directory: BorrowedFd) -> Result<Metadata, Error> {
    Ok(Metadata {
        status: read_yaml(directory, STATUS)?.map(status::check).transpose()?,
        selectors: selectors::check(read_yaml(directory, SELECTORS)?.unwrap_or_default())?,
        control: read_yaml(directory, CONTROL)?.map(control::check).transpose()?,
    })
}

/// `None` for a file that is missing, or that holds nothing.
fn read_yaml<T: DeserializeOwned>(directory: BorrowedFd, file: &'static str) -> Result<Option<T>, Error> {
    let opened = match open_file(directory, file) {
        Err(e) if Errno::from_io_error(&e) == Some(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(|source| Error::Read { file, source })?,
    };
    let content = read_file(opened, MAX_FILE_BYTES)
        .map_err(|source| Error::Read { file, source })?
        .ok_or(Error::TooLarge { file })?;
    parse(file, &content)
}

/// Budgets are for a file that is a page long and whose author may mean harm: aliases must not multiply it.
fn parse<T: DeserializeOwned>(file: &'static str, content: &[u8]) -> Result<Option<T>, Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: 200_000,
            max_nodes: 100_000,
            max_aliases: 1_000,
            max_depth: 64,
            max_documents: 1,
            max_total_scalar_bytes: 4 << 20,
            max_recorded_anchor_bytes: 4 << 20,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
        },
        with_snippet: false, // a file may hold secrets
    };
    serde_saphyr::from_slice_with_options(content, options)
        .map_err(|e| Error::Yaml { file, message: shown(&e.to_string()) })
}

/// Enough of a text from a file for an error.
fn shown(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
