//! What holds for the workspace as a whole: which crate may know which, and what stays pure.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crate to the crates of ours that it may know (ARCHITECTURE.md).
const EDGES: [(&str, &[&str]); 10] = [
    ("domain", &[]),
    ("resources", &[]),
    ("messages", &["domain"]),
    ("inflation", &["domain", "resources"]),
    ("runtime", &["domain", "messages", "resources"]),
    ("inflater", &["domain", "inflation", "messages", "resources", "runtime"]),
    ("scheduler", &["domain", "inflation", "messages", "resources", "runtime"]),
    ("job-runner", &["domain", "messages", "resources", "runtime"]),
    ("state-store-writer", &["domain", "inflation", "messages", "resources", "runtime"]),
    (
        "millrace",
        &[
            "domain",
            "inflater",
            "inflation",
            "job-runner",
            "messages",
            "resources",
            "runtime",
            "scheduler",
            "state-store-writer",
        ],
    ),
];

/// Nothing of these may come into a pure crate, directly or through another.
const IMPURE: [&str; 6] = ["tokio", "async-nats", "gix", "rustix", "kube", "reqwest"];
const PURE: [&str; 4] = ["domain", "resources", "inflation", "messages"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Crates for other platforms are not on every machine.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &host()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Normal dependencies by package, as they are resolved: optional ones only where they are switched on.
fn dependencies(metadata: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let list = |value: &Value| value.as_array().unwrap().clone();
    let packages = list(&metadata["packages"]);
    let name_of = |id: &Value| {
        let package = packages.iter().find(|package| package["id"] == *id).unwrap();
        package["name"].as_str().unwrap().to_owned()
    };
    let is_normal =
        |dependency: &Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    let nodes = list(&metadata["resolve"]["nodes"]).into_iter().map(|node| {
        let normal = list(&node["deps"]).into_iter().filter(|dependency| is_normal(dependency));
        (name_of(&node["id"]), normal.map(|dependency| name_of(&dependency["pkg"])).collect())
    });
    nodes.collect()
}

#[test]
fn crates_know_only_whom_they_may() {
    let dependencies = dependencies(&metadata());
    let ours: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in EDGES {
        for known in dependencies[name].iter().filter(|known| ours.contains(known.as_str())) {
            assert!(allowed.contains(&known.as_str()), "{name} must not depend on {known}");
        }
    }
}

#[test]
fn pure_crates_bring_in_no_runtime() {
    let dependencies = dependencies(&metadata());
    for name in PURE {
        let (mut seen, mut open) = (BTreeSet::new(), vec![name.to_owned()]);
        while let Some(next) = open.pop() {
            assert!(!IMPURE.contains(&next.as_str()), "{name} brings in {next}");
            for dependency in dependencies.get(&next).into_iter().flatten() {
                if seen.insert(dependency.clone()) {
                    open.push(dependency.clone());
                }
            }
        }
    }
}

/// Rust files of the workspace.
fn sources() -> Vec<PathBuf> {
    let output = Command::new("git").current_dir(root()).args(["ls-files", "*.rs"]).output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    list.lines().map(|path| root().join(path)).filter(|path| path.exists()).collect()
}

#[test]
fn every_module_says_what_it_is() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//!"), "{} starts without a `//!` line", path.display());
    }
}

#[test]
fn system_calls_stand_in_one_file() {
    let allowed = root().join("services/job-runner/src/process/sys.rs");
    for path in sources().into_iter().filter(|path| *path != allowed && path != Path::new(file!())) {
        let text = std::fs::read_to_string(&path).unwrap();
        let found =
            text.lines().any(|line| line.trim_start().starts_with("unsafe ") || line.contains("unsafe {"));
        assert!(!found || path.ends_with("workspace/main.rs"), "{}: unsafe code", path.display());
    }
}

#[test]
fn programs_begin_in_twenty_lines() {
    for path in sources().iter().filter(|path| path.ends_with("src/main.rs")) {
        let lines = std::fs::read_to_string(path).unwrap().lines().count();
        assert!(lines <= 20, "{}: {lines} lines", path.display());
    }
}
