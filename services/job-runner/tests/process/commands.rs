//! What a container's command gets, and what it leaves.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::{fs, iter};

use job_runner::images::Resolved;
use job_runner::process::{Container, Mount, Outcome};
use job_runner::{metadata, outputs};
use rustix::fd::AsFd;

use crate::harness::{Host, printed, run, succeed, words, write_executable};

#[tokio::test]
async fn the_end_of_a_command_is_reported() {
    for (script, code, signal) in [("exit 7", Some(7), None), ("kill -TERM $$", None, Some(15))] {
        let host = Host::new();
        let report = run(host.job(&format!("echo out; echo err >&2; {script}")), 1).await.unwrap().report;
        assert_eq!(report.outcome, Outcome::Failed);
        let end = &report.containers[0];
        assert_eq!((end.exit_code, end.signal), (code, signal));
        assert_eq!((&*end.name, &*end.stdout, &*end.stderr, end.dropped), ("main", "out\n", "err\n", 0));
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    for command in [words(&["no-such-program"]), words(&["/etc"]), vec![]] {
        let host = Host::new();
        let report =
            run(host.job_of(vec![Container::new("main", Resolved::Host, command.clone())]), 1).await.unwrap();
        let Outcome::Refused(why) = &report.report.outcome else { panic!("{:?}", report.report) };
        let expected = command.first().map_or("needs a `command`", |program| program);
        assert!(why.contains("container main") && why.contains(expected), "{why}");
    }
}

#[tokio::test]
async fn containers_run_in_order_until_one_fails_and_share_only_their_results() {
    let host = Host::new();
    let scripts = [
        "echo 1 > /kratix/output/a; echo x > /tmp/private",
        "cat /kratix/output/a; test ! -e /tmp/private; echo 2 >> /kratix/output/a",
        "exit 1",
        "echo never > /kratix/output/a",
    ];
    let finished = run(host.job_of(scripts.map(|script| host.container(script)).into()), 1).await.unwrap();
    assert_eq!(finished.report.outcome, Outcome::Failed);
    let codes: Vec<_> = finished.report.containers.iter().map(|end| end.exit_code).collect();
    assert_eq!(codes, [Some(0), Some(0), Some(1)]);
    assert_eq!(finished.report.containers[1].stdout, "1\n");
    let output = outputs::collect(finished.output.unwrap().as_fd(), &host.job("").limits).unwrap();
    assert_eq!(output.files["a"], b"1\n2\n");
}

#[tokio::test]
async fn input_output_and_metadata_are_where_kratix_has_them() {
    let host = Host::new();
    let script = "mkdir /kratix/output/d; cp /kratix/input/object.yaml /kratix/output/d/
        echo 'message: done' > /kratix/metadata/status.yaml";
    let finished = run(host.job(script), 1).await.unwrap();
    assert_eq!(finished.report.outcome, Outcome::Succeeded);
    let output = outputs::collect(finished.output.unwrap().as_fd(), &host.job("").limits).unwrap();
    assert_eq!(output.files["d/object.yaml"], b"kind: Redis\n");
    let metadata = metadata::read(finished.metadata.unwrap().as_fd()).unwrap();
    assert_eq!(metadata.status.unwrap()["message"], "done");
}

#[tokio::test]
async fn a_large_input_arrives_whole() {
    let host = Host::new();
    let mut job = host.job("sha256sum < /kratix/input/object.yaml; wc -c < /kratix/input/object.yaml");
    job.input = iter::repeat_n(b'x', 3 << 20).collect();
    let (end, _) = succeed(job).await;
    assert!(end.stdout.ends_with("\n3145728\n"), "{}", end.stdout);
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_what_every_image_has() {
    let host = Host::new();
    let mut container = Container::new("main", Resolved::Host, words(&["env"]));
    container.env = [("A", "1"), ("A", "2"), ("B", "x y")].map(|(k, v)| (k.into(), v.into())).into();
    let (end, _) = succeed(host.job_of(vec![container.clone()])).await;
    let mut lines: Vec<_> = end.stdout.lines().collect();
    lines.sort_unstable();
    let path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    assert_eq!(lines, ["A=2", "B=x y", "HOME=/tmp", path]);

    container.env = [("PATH", "/usr/bin"), ("HOME", "/kratix")].map(|(k, v)| (k.into(), v.into())).into();
    let (end, _) = succeed(host.job_of(vec![container])).await;
    let mut lines: Vec<_> = end.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["HOME=/kratix", "PATH=/usr/bin"]);
}

#[tokio::test]
async fn a_broken_pipe_ends_a_command() {
    assert_eq!(printed("yes | head -n 1; echo ${PIPESTATUS[0]}").await, "y\n141\n");
}

#[tokio::test]
async fn the_working_directory_and_arguments_are_kubernetes() {
    let host = Host::new();
    let mut container = Container::new("main", Resolved::Host, words(&["sh", "-c", "pwd; echo $1", "sh"]));
    container.args = words(&["one"]);
    container.working_dir = "/kratix/output".into();
    let (end, _) = succeed(host.job_of(vec![container])).await;
    assert_eq!(end.stdout, "/kratix/output\none\n");
}

#[tokio::test]
async fn scripts_come_first_in_the_path_and_have_an_entrypoint() {
    let host = Host::new();
    write_executable(&host.path("scripts/entrypoint"), "#!/bin/sh\necho entrypoint $1; hostname\n");
    write_executable(&host.path("scripts/hostname"), "#!/bin/sh\necho ours\n");
    let mut container = Container::new("main", Resolved::Scripts(host.path("scripts")), vec![]);
    container.args = words(&["one"]);
    let mut job = host.job_of(vec![container.clone()]);
    let (end, _) = succeed(job.clone()).await;
    assert_eq!(end.stdout, "entrypoint one\nours\n");
    container.command = words(&["sh", "-c", "hostname; : > /kratix-scripts/x"]);
    job.containers = vec![container];
    let report = run(job, 1).await.unwrap().report;
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(report.containers[0].stdout, "ours\n");
    assert!(report.containers[0].stderr.contains("Read-only file system"), "{:?}", report.containers);
}

/// An image of a shell, the libraries it needs, and an entrypoint.
fn unpack_image(root: &Path) {
    let needed = Command::new("ldd").arg("/bin/sh").output().unwrap().stdout;
    let needed = String::from_utf8(needed).unwrap();
    let libraries = needed.split_whitespace().filter(|word| word.starts_with('/'));
    for path in libraries.chain(["/bin/sh"]) {
        let target = root.join(&path[1..]);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
    write_executable(
        &root.join("entrypoint"),
        "#!/bin/sh\necho image $1; cat() { while read l; do echo $l; done; }\n\
        cat < /etc/resolv.conf; for d in /*; do echo $d; done; : > /x",
    );
    symlink("entrypoint", root.join("link")).unwrap();
}

#[tokio::test]
async fn an_unpacked_image_is_all_that_is_seen() {
    let host = Host::new();
    unpack_image(&host.path("image"));
    fs::create_dir_all(host.path("image/root")).unwrap();
    let mut container = Container::new("main", Resolved::Rootfs(host.path("image")), vec![]);
    container.args = words(&["one"]);
    for etc in [false, true] {
        if etc {
            fs::create_dir(host.path("image/etc")).unwrap();
            symlink("/run/resolve/stub.conf", host.path("image/etc/resolv.conf")).unwrap();
        }
        let end = run(host.job_of(vec![container.clone()]), 1).await.unwrap().report.containers.remove(0);
        assert!(end.stdout.starts_with("image one\n"), "{end:?}");
        let resolv_conf = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let shown = resolv_conf.lines().filter(|line| !line.is_empty());
        for line in shown.chain(["/entrypoint", "/link", "/kratix", "/root", "/tmp"]) {
            assert!(end.stdout.contains(line), "{line}: {end:?}");
        }
        assert!(!end.stdout.contains("/usr/share") && !end.stdout.contains("/opt"), "{end:?}");
        assert!(end.stderr.contains("Read-only file system"), "{end:?}");
    }
}

#[tokio::test]
async fn mounts_are_read_only_and_stand_in_nobodys_way() {
    let host = Host::new();
    fs::create_dir(host.path("data")).unwrap();
    fs::write(host.path("data/file"), "content\n").unwrap();
    let mounted = |target: &str, script: &str| {
        let mut container = host.container(script);
        container.mounts = vec![Mount { source: host.path("data"), target: target.into() }];
        host.job_of(vec![container])
    };
    let script = "cat /opt/data/file; ! : > /opt/data/x";
    assert_eq!(succeed(mounted("/opt/data", script)).await.0.stdout, "content\n");
    for (target, expected) in [("/usr/data", "Read-only file system"), ("/a/../b", "without `..`")] {
        let report = run(mounted(target, "true"), 1).await.unwrap().report;
        let Outcome::Refused(why) = &report.outcome else { panic!("{report:?}") };
        assert!(why.contains(target) && why.contains(expected), "{why}");
    }
}
