//! Jobs without namespaces.

use std::time::Duration;

use job_runner::images::Resolved;
use job_runner::process::{Container, Isolation, Job, Mount, Outcome};

use crate::harness::{Host, outcome, run, succeed, write_executable};

fn plain(mut job: Job) -> Job {
    job.isolation = Isolation::None;
    job
}

#[tokio::test]
async fn the_kratix_directories_are_below_a_variable() {
    let host = Host::new();
    write_executable(
        &host.path("scripts/entrypoint"),
        "#!/bin/sh\ncp $MILLRACE_KRATIX_DIR/input/object.yaml $MILLRACE_KRATIX_DIR/output/a\necho $MILLRACE_KRATIX_DIR\n",
    );
    let job =
        plain(host.job_of(vec![Container::new("main", Resolved::Scripts(host.path("scripts")), vec![])]));
    let (end, output) = succeed(job).await;
    assert_eq!(output.files["a"], b"kind: Redis\n");
    assert!(!std::path::Path::new(end.stdout.trim_end()).exists(), "nothing is left of {}", end.stdout);
}

#[tokio::test]
async fn what_detaches_itself_is_killed_too() {
    let detached = "for i in 1 2 3; do setsid sleep 1000 & (setsid sleep 1000 & (sleep 1000 &) &); done";
    for cut_short in [false, true] {
        let host = Host::new();
        let mut job = plain(host.waiting_job(detached));
        if cut_short {
            job.limits.wall = Duration::from_secs(3);
        }
        let running = tokio::spawn(outcome(job, 1));
        let mut call = host.call().await;
        if !cut_short {
            call.answer().await;
        }
        let expected = if cut_short { Outcome::TimedOut } else { Outcome::Succeeded };
        assert_eq!(running.await.unwrap(), expected);
        call.all_gone().await;
    }
}

#[tokio::test]
async fn what_needs_mounts_is_refused() {
    let host = Host::new();
    let mut mounting = host.container("true");
    mounting.mounts = vec![Mount { source: "/usr".into(), target: "/opt".into() }];
    for container in [Container::new("main", Resolved::Rootfs("/usr".into()), vec![]), mounting] {
        let report = run(plain(host.job_of(vec![container])), 1).await.unwrap().report;
        let Outcome::Refused(why) = &report.outcome else { panic!("{report:?}") };
        assert!(why.contains("container main"), "{why}");
    }
}
