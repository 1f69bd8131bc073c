//! Who runs jobs: everything again as an ordinary user, when it is root who runs the tests; and who cannot.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;

use crate::harness::{Host, PROGRAM, program};

const UID: u32 = 12_345;

#[tokio::test]
async fn an_ordinary_user_can_do_it_too() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let host = Host::new();
    let tmp = host.path("tmp");
    fs::create_dir(&tmp).unwrap();
    chown(&tmp, Some(UID), Some(UID)).unwrap();
    let (tests, runner) = (host.path("tests"), host.path("job-runner"));
    fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    fs::copy(program(), &runner).unwrap();
    let id = UID.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(&tests);
    command.args(["--skip", "an_ordinary_user"]).env(PROGRAM, &runner).env("TMPDIR", &tmp).current_dir(&tmp);
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let done = run.await.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
}

#[tokio::test]
async fn root_of_a_user_namespace_that_knows_nobody_else_can_do_it_too() {
    let host = Host::new();
    let runner = host.runner_by(&["unshare", "-Ur", "--"]);
    let mut call = host.call().await;
    call.answer().await;
    assert_eq!(runner.said().await, "Succeeded");
    call.all_gone().await;
}

#[tokio::test]
async fn what_a_host_lacks_is_said_with_the_remedy() {
    for (prepare, expected) in [
        ("echo 0 > /proc/sys/user/max_user_namespaces", "user namespaces are not available"),
        ("mount -t tmpfs none /proc/sys", "a new /proc cannot be mounted"),
    ] {
        let host = Host::new();
        let script = format!("{prepare} && exec \"$@\"");
        let said = host.runner_by(&["unshare", "-Urm", "sh", "-c", &script, "sh"]).said().await;
        assert!(said.starts_with("Refused") && said.contains(expected), "{said}");
        assert!(said.contains("--isolation none"), "{said}");
    }
}
