//! Manifests that others wrote: the two stories that the project began with, and upstream's own test Promise.
//!
//! They are read from `../shared/cases`, or from `MILLRACE_CASES`; where they are not, the tests say so and end.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tests::Laptop;
use tests::manifests::{destination, store};

fn cases() -> Option<PathBuf> {
    let here = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/cases"));
    let path = std::env::var_os("MILLRACE_CASES").map_or(here, PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("left out: no cases at {}", path.display());
    None
}

fn destinations(laptop: &Laptop) -> Result<()> {
    laptop.write(
        "destinations.yaml",
        &[
            store("default", &laptop.repository),
            destination("worker-1", "default", &json!({"environment": "dev"})),
            destination("worker-2", "default", &json!({"environment": "prod"})),
        ],
    )
}

fn script(laptop: &Laptop, name: &str, text: &str) -> Result<()> {
    let path = laptop.signals.directory().join(name);
    std::fs::write(&path, format!("#!/bin/sh\nset -e\n. /kratix-scripts/lib.sh\n{text}\n"))?;
    Ok(std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))?)
}

/// The fragment of workflows, completed to a Promise: the same two pipelines for the Promise and for its requests.
#[test]
fn the_fragment_of_workflows_runs() -> Result<()> {
    let Some(cases) = cases() else { return Ok(()) };
    let text = std::fs::read_to_string(cases.join("seed/workflows-fragment.yaml"))?;
    let fragment: Value = serde_saphyr::from_str(text.split("\n---\n").next().context("a document")?)?;
    let configure = fragment["workflows"]["resource/promise"].clone();
    assert_eq!(configure["configure"].as_array().map(Vec::len), Some(2));
    let laptop = Laptop::new()?;
    destinations(&laptop)?;
    script(&laptop, "entrypoint", "say start; out $KRATIX_PIPELINE_NAME.yaml x; say end")?;
    let mut promise = tests::manifests::Promise::default().manifest();
    promise["spec"]["workflows"] = json!({"promise": configure, "resource": configure});
    laptop.write("promise.yaml", &[promise])?;
    laptop.write("request.yaml", &[tests::manifests::thing("default", "a", 1)])?;
    let (code, text) = laptop.settle_with("ghcr.io/syntasso/*")?;
    assert_eq!(code, 0, "{text}");
    let mut expected = Vec::new();
    for who in ["/things", "default/a"] {
        for name in ["configure-a", "configure-b"] {
            expected.extend([format!("start {who} {name}"), format!("end {who} {name}")]);
        }
    }
    assert_eq!(laptop.signals.all(), expected);
    let file = |kind: &str, name: &str| format!("worker-1/{kind}/{name}/5058f/{name}.yaml");
    let expected = [
        file("dependencies/things", "configure-a"),
        file("dependencies/things", "configure-b"),
        file("resources/default/things/a", "configure-a"),
        file("resources/default/things/a", "configure-b"),
    ];
    assert_eq!(laptop.repository.files()?, expected);
    Ok(())
}

/// kratix-E1 with scripts of our own: upstream's test Promise and request, then version 2 of both as updates.
#[test]
fn upstreams_test_promise_runs_and_is_updated() -> Result<()> {
    let Some(cases) = cases() else { return Ok(()) };
    let laptop = Laptop::new()?;
    destinations(&laptop)?;
    script(&laptop, "promise-configure.sh", "out namespace.yaml \"value: ${VALUE:-first}\"")?;
    let first = "out top.yaml x; out extra/prod.yaml x; status 'stage: one'\n\
                 selectors '[{directory: extra, matchLabels: {environment: prod}}]'";
    script(&laptop, "resource-configure-0.sh", first)?;
    let second = "grep -q 'stage: one' /kratix/input/object.yaml\n\
                  out configmap.yaml \"$(grep namespaceName /kratix/input/object.yaml)\"; status 'stage: two'";
    script(&laptop, "resource-configure-1.sh", second)?;
    let copy = |from: &str, to: &str| -> Result<()> {
        let text = std::fs::read_to_string(cases.join("upstream/kratix").join(from))?;
        Ok(std::fs::write(laptop.manifests().join(to), text)?)
    };
    let image = "syntasso/*";
    copy("core-promise.yaml", "promise.yaml")?;
    copy("core-example-resource.yaml", "request.yaml")?;
    let (code, text) = laptop.settle_with(image)?;
    assert_eq!(code, 0, "{text}");
    let base = "worker-1/resources/default/testbundle/kratix-test";
    let dependency = "worker-1/dependencies/testbundle/setup-deps/5058f/namespace.yaml";
    let files = laptop.repository.files()?;
    assert_eq!(files[0], dependency);
    assert_eq!(files[1], format!("{base}/resource-pipeline0/5058f/top.yaml"));
    assert_eq!(files[2], format!("{base}/resource-pipeline1/5058f/configmap.yaml"));
    assert!(
        files[3].starts_with("worker-2/") && files[3].ends_with("/extra/prod.yaml") && files.len() == 4,
        "{files:?}"
    );
    assert_eq!(laptop.repository.read(dependency)?, "value: first\n");
    let request = laptop.object("testbundle", "kratix-test")?;
    assert_eq!(request["status"]["stage"], "two");
    assert_eq!(request["status"]["workflowsSucceeded"], 2);

    copy("core-promise-v2.yaml", "promise.yaml")?;
    copy("core-example-resource-v2.yaml", "request.yaml")?;
    let (code, text) = laptop.settle_with(image)?;
    assert_eq!(code, 0, "{text}");
    assert_eq!(laptop.repository.files()?, files);
    assert_eq!(laptop.repository.read(dependency)?, "value: second\n");
    let written = laptop.repository.read(&format!("{base}/resource-pipeline1/5058f/configmap.yaml"))?;
    assert!(written.contains("ksystest-updated"), "{written}");

    for file in ["request.yaml", "promise.yaml"] {
        laptop.remove(file)?;
    }
    let (code, text) = laptop.settle_with(image)?;
    assert_eq!(code, 0, "{text}");
    assert_eq!(laptop.repository.files()?, Vec::<String>::new());
    Ok(())
}
