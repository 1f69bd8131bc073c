//! The server's files: configuration, the port it chose, its log.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::state::write_private;

/// Largest message, in bytes: objects may have 1.5 MiB, and are sent inside of others.
const MAX_PAYLOAD: u64 = 4 << 20;

/// Writes the configuration and removes what another server has left; its JetStream store stays.
pub(super) fn prepare(directory: &Path, public_key: &str) -> io::Result<PathBuf> {
    let ports = ports(directory);
    if ports.exists() {
        std::fs::remove_dir_all(&ports)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&ports)?;
    let file = directory.join("nats.conf");
    write_private(&file, text(directory, public_key).as_bytes())?;
    Ok(file)
}

fn ports(directory: &Path) -> PathBuf {
    directory.join("ports")
}

fn log(directory: &Path) -> PathBuf {
    directory.join("nats.log")
}

fn text(directory: &Path, public_key: &str) -> String {
    let quoted = |path: PathBuf| format!("{:?}", path.display().to_string());
    let (ports, log) = (quoted(ports(directory)), quoted(log(directory)));
    let store = quoted(directory.join("jetstream"));
    format!(
        "server_name: millrace\n\
         host: 127.0.0.1\n\
         port: -1\n\
         ports_file_dir: {ports}\n\
         log_file: {log}\n\
         logfile_size_limit: 16MB\n\
         logfile_max_num: 2\n\
         max_payload: {MAX_PAYLOAD}\n\
         authorization {{ users: [ {{ nkey: {public_key} }} ] }}\n\
         jetstream {{\n  \
           store_dir: {store}\n  \
           sync_interval: 1s\n  \
           # The limits of all streams are reserved here; the default follows the free space of the disk.\n  \
           max_file_store: 64GB\n\
         }}\n"
    )
}

/// The address that the server of this process wrote down, once it listens.
pub(super) fn address(directory: &Path, pid: u32) -> Option<String> {
    let ending = format!("_{pid}.ports");
    let mut files = std::fs::read_dir(ports(directory)).ok()?.flatten();
    let file = files.find(|file| file.file_name().to_string_lossy().ends_with(&ending))?;
    address_in(&std::fs::read(file.path()).ok()?)
}

fn address_in(ports: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Ports {
        nats: Vec<String>,
    }
    let ports: Ports = serde_json::from_slice(ports).ok()?;
    ports.nats.into_iter().find(|url| url.starts_with("nats://127.0.0.1:"))
}

/// Why the server of this process gave up, as its log has it.
pub(super) fn last_words(directory: &Path, pid: u32) -> Option<String> {
    fatal_in(&std::fs::read_to_string(log(directory)).ok()?, pid)
}

fn fatal_in(log: &str, pid: u32) -> Option<String> {
    let own = format!("[{pid}] ");
    let mut lines = log.lines().rev().filter(|line| line.starts_with(&own));
    lines.find_map(|line| line.split_once("[FTL] ")).map(|(_, text)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        let text = text(Path::new("/a b/\"c\""), "UABC");
        assert!(text.contains(r#"store_dir: "/a b/\"c\"/jetstream""#), "{text}");
        assert!(text.contains("{ nkey: UABC }"), "{text}");
    }

    #[test]
    fn the_address_is_read_once_it_is_complete() {
        let ports = br#"{"nats":["nats://127.0.0.1:40001"],"monitoring":[]}"#;
        assert_eq!(address_in(ports).as_deref(), Some("nats://127.0.0.1:40001"));
        assert_eq!(address_in(&ports[..20]), None);
        assert_eq!(address_in(b"{}"), None);
    }

    #[test]
    fn only_this_server_s_last_words_count() {
        let log = "[6] 2026/01/01 10:00:00.000000 [FTL] Can't listen\n\
                   [7] 2026/01/01 10:00:00.000001 [FTL] Can't start JetStream: no space\n\
                   [7] 2026/01/01 10:00:00.000002 [INF] Server Exiting..\n";
        assert_eq!(fatal_in(log, 7).as_deref(), Some("Can't start JetStream: no space"));
        assert_eq!(fatal_in(log, 8), None);
    }
}
