//! `millrace up`: one command, a directory kept in sync, and a power cut at any moment.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Laptop;
use tests::manifests::{Promise, destination, gated, noted, store, thing};

use crate::paths;

fn laptop(promise: &Promise, requests: &[Value]) -> Result<Laptop> {
    let laptop = Laptop::new()?;
    let destinations = [
        store("default", &laptop.repository),
        destination("dev", "default", &json!({"environment": "dev"})),
        destination("prod", "default", &json!({"environment": "prod"})),
    ];
    laptop.write("destinations.yaml", &destinations)?;
    laptop.write("promise.yaml", &[promise.manifest()])?;
    laptop.write("requests.yaml", requests)?;
    Ok(laptop)
}

/// A directory in, a repository out; once more, and nothing is committed or written.
#[test]
fn another_up_makes_no_commit() -> Result<()> {
    let promise = Promise { promise: vec![noted("setup")], ..Promise::with(["one", "two"].map(noted)) };
    let laptop = laptop(&promise, &[thing("team-a", "cache", 1), thing("team-b", "cache", 1)])?;
    laptop.settled()?;
    let mut expected =
        [paths("team-a", "cache", &["one", "two"]), paths("team-b", "cache", &["one", "two"])].concat();
    expected.insert(0, "dev/dependencies/things/setup/5058f/setup.yaml".into());
    assert_eq!(laptop.repository.files()?, expected);
    let (tip, object) = (laptop.repository.tip()?, laptop.object("thing", "team-a/cache")?);
    let events = laptop.say(&["events", "-o", "json"])?.lines().count();
    laptop.settled()?;
    assert_eq!(laptop.repository.tip()?, tip);
    assert_eq!(laptop.object("thing", "team-a/cache")?["metadata"], object["metadata"]);
    assert_eq!(laptop.say(&["events", "-o", "json"])?.lines().count(), events, "no stream gained a message");
    Ok(())
}

/// While `up` serves, the directory is followed: a changed file, a new one, one that goes.
#[test]
fn the_directory_is_followed_while_up_serves() -> Result<()> {
    let laptop = laptop(&Promise::with([noted("one")]), &[thing("team-a", "cache", 1)])?;
    let mut up = laptop.up()?;
    laptop.until("the first request there", |l| {
        Ok(l.repository.files()? == paths("team-a", "cache", &["one"]))
    })?;
    laptop.write("more.yaml", &[thing("team-b", "cache", 1)])?;
    let both = [paths("team-a", "cache", &["one"]), paths("team-b", "cache", &["one"])].concat();
    laptop.until("the second request there", |l| Ok(l.repository.files()? == both))?;
    laptop.remove("requests.yaml")?;
    laptop.until("the first request gone", |l| {
        Ok(l.repository.files()? == paths("team-b", "cache", &["one"]))
    })?;
    let promise = Promise::with(["one", "two"].map(noted));
    laptop.write("promise.yaml", &[promise.manifest()])?;
    let grown = paths("team-b", "cache", &["one", "two"]);
    laptop.until("the second pipeline's file there", |l| Ok(l.repository.files()? == grown))?;
    assert!(up.stop()?.success(), "an orderly end");
    assert_eq!(laptop.processes()?, Vec::<String>::new());
    Ok(())
}

/// A document that is removed while `up` is down: its delete pipelines run, then its files go.
#[test]
fn what_was_removed_while_up_was_down_is_deleted() -> Result<()> {
    let promise =
        Promise { delete: ["first", "second"].map(noted).to_vec(), ..Promise::with([noted("one")]) };
    let laptop = laptop(&promise, &[thing("team-a", "cache", 1), thing("team-b", "cache", 1)])?;
    laptop.settled()?;
    let before = laptop.signals.all().len();
    laptop.write("requests.yaml", &[thing("team-b", "cache", 1)])?;
    laptop.settled()?;
    let said = laptop.signals.all().split_off(before);
    let expected = ["start first", "end first", "start second", "end second"];
    assert_eq!(said, expected.map(|line| line.replace(' ', " team-a/cache ")));
    assert_eq!(laptop.repository.files()?, paths("team-b", "cache", &["one"]));
    Ok(())
}

/// kill -9 of `up` at every moment that a pipeline speaks, and `up` again: the run goes on, all is there once,
/// nothing is left over, no process stays.
#[test]
fn a_power_cut_at_any_moment_is_survived() -> Result<()> {
    for moment in 1..=8 {
        let promise =
            Promise { promise: vec![noted("setup")], ..Promise::with(["one", "two", "three"].map(noted)) };
        let laptop = laptop(&promise, &[thing("team-a", "cache", 1)])?;
        let mut up = laptop.up()?;
        for _ in 0..moment {
            laptop.signals.next()?;
        }
        up.kill()?;
        laptop.until("no process left", |l| Ok(l.processes()?.is_empty()))?;
        laptop.settled().with_context(|| format!("cut after {moment} lines"))?;
        let mut expected = paths("team-a", "cache", &["one", "two", "three"]);
        expected.insert(0, "dev/dependencies/things/setup/5058f/setup.yaml".into());
        assert_eq!(laptop.repository.files()?, expected, "cut after {moment} lines");
        let request = laptop.object("thing", "team-a/cache")?;
        assert_eq!(request["status"]["millrace"]["run"], 1, "the same run went on");
    }
    Ok(())
}

/// The same while a pipeline is in the middle of its work: its tree dies with `up`.
#[test]
fn no_process_outlives_up() -> Result<()> {
    let laptop = laptop(&Promise::with([gated("one")]), &[thing("team-a", "cache", 1)])?;
    laptop.signals.gate("one")?;
    let mut up = laptop.up()?;
    laptop.signals.expect("start team-a/cache one")?;
    assert!(laptop.processes()?.len() > 2, "up, its server, and the pipeline's tree");
    up.kill()?;
    laptop.until("no process left", |l| Ok(l.processes()?.is_empty()))?;
    Ok(())
}

/// A bad document is named with file and field; the good ones run all the same; the exit code says so.
#[test]
fn a_bad_document_is_named_and_stops_nothing_else() -> Result<()> {
    let laptop = laptop(&Promise::with([noted("one")]), &[thing("team-a", "cache", 1)])?;
    let mut bad = thing("team-a", "other", 1);
    bad["spec"]["sise"] = 3.into();
    laptop.write("bad.yaml", &[bad])?;
    std::fs::write(laptop.manifests().join("worse.yaml"), "apiVersion: v1\nkind: [\n")?;
    laptop.write("name.yaml", &[thing("team-a", "UPPER Case", 1)])?;
    let (code, text) = laptop.settle()?;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("spec.sise") && text.contains("bad.yaml:"), "{text}");
    assert!(text.contains("worse.yaml"), "{text}");
    assert!(text.contains("name.yaml") && text.contains("metadata.name"), "{text}");
    assert_eq!(laptop.repository.files()?, paths("team-a", "cache", &["one"]));
    Ok(())
}

/// What this version does not act on gets `Supported=False` with the path, and is never Reconciled: exit code 3.
#[test]
fn what_is_not_acted_on_says_so() -> Result<()> {
    let laptop = laptop(&Promise::with([noted("one")]), &[])?;
    let mut promise = Promise::with([noted("one")]).manifest();
    promise["spec"]["dependencies"] =
        json!([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}]);
    laptop.write("promise.yaml", &[promise])?;
    let (code, text) = laptop.settle()?;
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("spec.dependencies"), "{text}");
    let object = laptop.object("promise", "things")?;
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let find = |kind: &str| conditions.iter().find(|condition| condition["type"] == kind).unwrap();
    assert_eq!(find("Supported")["status"], "False");
    assert!(find("Supported")["message"].as_str().unwrap().contains("spec.dependencies"));
    assert_ne!(find("Reconciled")["status"], "True");
    Ok(())
}

/// Two Destinations of one path, and two Promises with one API, in one directory: one of each is taken, one refused.
#[test]
fn documents_that_clash_are_refused_whatever_the_order() -> Result<()> {
    let laptop = laptop(&Promise::with([noted("one")]), &[])?;
    let mut twin = destination("twin", "default", &json!({"environment": "qa"}));
    twin["spec"]["path"] = "dev".into();
    laptop.write("twin.yaml", &[twin, Promise { name: "twins".into(), ..Promise::default() }.manifest()])?;
    let (code, text) = laptop.settle()?;
    assert_eq!(code, 1, "{text}");
    let names = |kind: &str| -> Result<Vec<String>> {
        let list: Value = serde_json::from_str(&laptop.say(&["get", kind, "-o", "json"])?)?;
        let items = list["items"].as_array().context("a list")?.iter();
        Ok(items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect())
    };
    assert_eq!(names("destinations")?.len(), 2, "{text}");
    assert_eq!(names("promises")?.len(), 1, "{text}");
    Ok(())
}

/// A Destination is renamed and keeps its path, in one save: the new one takes over once the old one is gone.
#[test]
fn a_rename_in_one_save_takes_over() -> Result<()> {
    let laptop = laptop(&Promise::with([noted("one")]), &[thing("team-a", "cache", 1)])?;
    laptop.settled()?;
    let mut renamed = destination("renamed", "default", &json!({"environment": "dev"}));
    renamed["spec"]["path"] = "dev".into();
    let prod = destination("prod", "default", &json!({"environment": "prod"}));
    laptop.write("destinations.yaml", &[store("default", &laptop.repository), renamed, prod])?;
    laptop.settled()?;
    let placements = laptop.object("thing", "team-a/cache")?["status"]["millrace"]["placements"].clone();
    assert_eq!(placements[0]["destination"], "renamed");
    assert_eq!(laptop.repository.files()?, paths("team-a", "cache", &["one"]));
    Ok(())
}
