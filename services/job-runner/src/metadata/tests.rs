//! The three files, and how an output is divided.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File};
use std::time::Duration;

use rustix::fd::AsFd;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::outputs::Output;

/// A directory with this one file.
fn holding(file: &str, content: &str) -> (TempDir, File) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(file), content).unwrap();
    let opened = File::open(directory.path()).unwrap();
    (directory, opened)
}

fn read_one(file: &str, content: &str) -> Result<Metadata, Error> {
    read(holding(file, content).1.as_fd())
}

#[track_caller]
fn refused(file: &str, content: &str, expected: &str) {
    let error = read_one(file, content).unwrap_err().to_string();
    assert!(error.starts_with(file) && error.contains(expected), "{content:?}: {error}");
}

fn selectors(content: &str) -> Vec<Selector> {
    read_one(SELECTORS, content).unwrap().selectors
}

#[test]
fn nothing_says_nothing() {
    for file in [STATUS, SELECTORS, CONTROL, "other.yaml"] {
        for content in ["", "\n", "# a comment\n", "---\n", "null\n"] {
            assert_eq!(read_one(file, content).unwrap(), Metadata::default(), "{file} {content:?}");
        }
    }
    assert_eq!(read_one("other.yaml", "{{{").unwrap(), Metadata::default(), "other files are ignored");
}

#[test]
fn a_status_is_a_mapping() {
    let status =
        read_one(STATUS, "message: done\nnumbers: [1, 2.5]\nconditions:\n- type: Ready\n  status: 'True'\n");
    let expected =
        json!({"message": "done", "numbers": [1, 2.5], "conditions": [{"type": "Ready", "status": "True"}]});
    assert_eq!(Value::from(status.unwrap().status.unwrap()), expected);
    for content in ["[]", "text", "message: [", "a: 1\na: 2", "a: .nan", "a: 1\n---\na: 2\n"] {
        refused(STATUS, content, "");
    }
}

#[test]
fn what_the_platform_writes_is_reserved() {
    refused(STATUS, "kratix: {}", "`kratix` is reserved");
    refused(STATUS, "millrace: {}", "`millrace` is reserved");
    assert!(read_one(STATUS, "nested: {kratix: 1}").is_ok());
}

#[test]
fn conditions_have_a_type() {
    for conditions in
        ["{}", "text", "[1]", "[{}]", "[{type: ''}]", "[{type: 1}]", "[{type: A}, {status: 'True'}]"]
    {
        refused(STATUS, &format!("conditions: {conditions}"), "`conditions` must be a list");
    }
    assert!(read_one(STATUS, "conditions: []").is_ok());
}

#[test]
fn selectors_keep_their_order_and_their_clean_directory() {
    let read = selectors(
        "- matchLabels: {env: dev, zone: 1}\n  directory: foo/\n- matchLabels: {env: prod}\n- {directory: ./bar, matchLabels: {a: b}}",
    );
    let directories: Vec<_> = read.iter().map(|selector| &*selector.directory).collect();
    assert_eq!(directories, ["foo", ".", "bar"]);
    assert_eq!(
        read[0].match_labels,
        BTreeMap::from([("env".into(), "dev".into()), ("zone".into(), "1".into())])
    );
}

/// kratix-P2.
#[test]
fn selectors_that_upstream_refuses_are_refused() {
    let one = |directory: &str| format!("- matchLabels: {{a: b}}\n  directory: {directory}\n");
    refused(SELECTORS, "- directory: foo", "index 0 has no selectors");
    refused(SELECTORS, &(one("foo") + "- {directory: bar, matchLabels: {}}"), "index 1 has no selectors");
    refused(SELECTORS, &(one("foo") + &one("foo")), "duplicate entries for directory foo");
    refused(SELECTORS, &(one("foo") + &one("foo/")), "duplicate");
    refused(SELECTORS, &(one("'.'") + "- matchLabels: {a: b}"), "duplicate entries for directory .");
    refused(SELECTORS, &one("foo/bar"), "sub-directories are not allowed");
    refused(SELECTORS, &one("foo/bar/"), "sub-directories are not allowed");
    refused(SELECTORS, "- matchLabels: {a: b}\n  directories: foo", "directories");
    refused(SELECTORS, "matchLabels: {a: b}", "");
    refused(SELECTORS, "- matchLabels: {a: [b]}", "");
}

#[test]
fn a_selector_stays_in_the_output() {
    for directory in ["..", "../x", "/", "/foo", "a/../.."] {
        refused(
            SELECTORS,
            &format!("- matchLabels: {{a: b}}\n  directory: {directory}\n"),
            "below the output",
        );
    }
    assert_eq!(selectors("- matchLabels: {a: b}\n  directory: foo/..\n")[0].directory, DEFAULT_DIRECTORY);
}

#[test]
fn control_suspends_by_either_key() {
    let control = |content| read_one(CONTROL, content).unwrap().control.unwrap();
    let suspended = control("suspend: true\nmessage: waiting for approval\n");
    assert_eq!((suspended.suspends(), &*suspended.message), (true, "waiting for approval"));
    let retried = control("retryAfter: 1m30s\n");
    assert_eq!((retried.suspends(), retried.retry_after), (true, Some(Duration::from_secs(90))));
    assert!(!control("message: all is well\n").suspends());
    assert!(!control("suspend: false\nretryAfter: ''\n").suspends());
}

#[test]
fn control_is_strict() {
    refused(CONTROL, "suspended: true", "suspended");
    refused(CONTROL, "suspend: [true]", "");
    refused(CONTROL, "[]", "");
    refused(CONTROL, "retryAfter: soon", "retryAfter `soon`: expected a duration");
    refused(CONTROL, "retryAfter: -5s", "negative");
}

#[test]
fn large_files_and_links_are_refused() {
    refused(STATUS, &"#".repeat(1 << 20 | 1), "larger than 1048576 bytes");
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", directory.path().join(STATUS)).unwrap();
    let error = read(File::open(directory.path()).unwrap().as_fd()).unwrap_err();
    assert!(matches!(error, Error::Read { file: STATUS, .. }), "{error}");
}

#[test]
fn errors_are_short() {
    let long = "x".repeat(1 << 19);
    let selector = format!("- {{matchLabels: {{a: b}}, directory: {long}/x}}");
    for (file, content) in
        [(STATUS, long.clone()), (SELECTORS, selector), (CONTROL, format!("retryAfter: {long}"))]
    {
        let error = read_one(file, &content).unwrap_err().to_string();
        assert!(error.len() < 500, "{} bytes", error.len());
    }
}

#[test]
fn aliases_do_not_multiply_a_file() {
    let mut bomb = format!("a0: &a0 {}\n", "x".repeat(1 << 19));
    for n in 1..20 {
        writeln!(bomb, "a{n}: &a{n} [*a{0}, *a{0}]", n - 1).unwrap();
    }
    refused(STATUS, &bomb, "");
    refused(STATUS, &format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000)), "");
    assert!(read_one(STATUS, "a: &a {b: c}\nd: *a\n").is_ok(), "an alias is no crime");
}

fn output(paths: &[&str], directories: &[&str]) -> Output {
    Output {
        files: paths.iter().map(|path| ((*path).into(), path.as_bytes().to_vec())).collect(),
        directories: directories.iter().map(|name| (*name).into()).collect(),
    }
}

/// Directory, whether it has labels of its own, and paths of each group.
fn divided(output: Output, content: &str) -> Vec<(String, bool, Vec<String>)> {
    let groups = groups(output, &selectors(content)).unwrap();
    groups
        .into_iter()
        .map(|Group { directory, match_labels, files }| {
            (directory, match_labels.is_some(), files.into_keys().collect())
        })
        .collect()
}

#[test]
fn without_selectors_all_is_one_group() {
    let groups = divided(output(&["a.yaml", "d/b.yaml"], &["d"]), "");
    assert_eq!(groups, [(".".to_owned(), false, vec!["a.yaml".into(), "d/b.yaml".into()])]);
    assert!(divided(Output::default(), "").is_empty());
    assert!(divided(Output::default(), "- matchLabels: {a: b}").is_empty());
}

#[test]
fn named_directories_are_groups_and_keep_their_prefix() {
    let paths = ["bar/x.yaml", "baz/x.yaml", "foo/deep/x.yaml", "foobar/x.yaml", "x.yaml"];
    let selectors = "- {matchLabels: {a: b}, directory: foo}\n- matchLabels: {c: d}\n- {matchLabels: {e: f}, directory: bar}";
    let groups = divided(output(&paths, &["bar", "baz", "foo", "foobar"]), selectors);
    assert_eq!(
        groups,
        [
            ("foo".to_owned(), true, vec!["foo/deep/x.yaml".to_owned()]),
            ("bar".to_owned(), true, vec!["bar/x.yaml".into()]),
            (".".to_owned(), true, vec!["baz/x.yaml".into(), "foobar/x.yaml".into(), "x.yaml".into()]),
        ]
    );
}

#[test]
fn a_named_directory_must_exist_and_may_be_empty() {
    let content = "- {matchLabels: {a: b}, directory: foo}";
    assert_eq!(divided(output(&[], &["foo"]), content), [("foo".to_owned(), true, vec![])]);
    for present in [output(&["foo"], &[]), output(&["a/foo/x"], &["a"]), Output::default()] {
        let error = groups(present, &selectors(content)).unwrap_err().to_string();
        assert!(error.contains("directory foo does not exist"), "{error}");
    }
}
