//! A whole Millrace for one test: server, services, repository, and a client.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use domain::id::{LaneKey, ObjectKey, ResourceKind};
use domain::lane::Lane;
use futures::StreamExt;
use messages::admit::{AdmitAnswer, AdmitRequest, Change};
use messages::envelope;
use messages::subject::{ADMIT_APPLY, ADMIT_DELETE};
use messages::trace::TraceParent;
use resources::Object;
use runtime::Platform;
use runtime::bus::{Records, headers_of};
use runtime::clock::Clock;
use runtime::config::BusConfig;
use runtime::objects::Event;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::manifests::{destination, store};
use crate::programs::{Process, nats_server, program};
use crate::{LIMIT, Repository, Signals};

pub const SERVICES: [&str; 4] = ["inflater", "scheduler", "job-runner", "state-store-writer"];

/// Everything ends when this is dropped.
pub struct Stage {
    pub signals: Signals,
    pub repository: Repository,
    pub platform: Platform,
    pub processes: Vec<Process>,
    pub bus: BusConfig,
    pub server: Process,
    pub directory: TempDir,
}

impl Stage {
    /// Each service as a process of its own, `replicas` times.
    pub async fn start(replicas: usize) -> Result<Self> {
        let mut directory = tempfile::Builder::new().prefix("millrace-test-").tempdir()?;
        directory.disable_cleanup(std::env::var_os("MILLRACE_TEST_KEEP").is_some());
        // Pipelines of a root runner run as another user, who has to reach the scripts.
        std::fs::set_permissions(directory.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let signals = Signals::new(&directory.path().join("scripts"))?;
        let (server, url) = start_server(directory.path())?;
        let bus = BusConfig { url, ..BusConfig::default() };
        let platform = Platform::embedded(&bus, Clock::System).await?;
        let repository = Repository(directory.path().join("repository.git"));
        let mut stage = Self { signals, repository, platform, processes: Vec::new(), bus, server, directory };
        for replica in 0..replicas {
            for service in SERVICES {
                stage.start_service(service, replica)?;
            }
        }
        Ok(stage)
    }

    pub fn start_service(&mut self, service: &str, replica: usize) -> Result<()> {
        let name = format!("{service}-{replica}");
        let mut command = Command::new(program(service)?);
        command
            .arg("--nats")
            .arg(&self.bus.url)
            .arg("--state")
            .arg(self.directory.path().join("state").join(&name));
        command.env(
            "MILLRACE_IMAGES",
            format!("registry.test/*=scripts:{}", self.signals.directory().display()),
        );
        command.env("MILLRACE_LOG", std::env::var("MILLRACE_TEST_LOG").unwrap_or_else(|_| "info".into()));
        self.processes.push(Process::start(&name, &mut command, self.directory.path())?);
        Ok(())
    }

    /// A store, and Destinations `dev` and `prod` with those environments.
    pub async fn apply_destinations(&self) -> Result<()> {
        self.apply(&store("default", &self.repository)).await?;
        self.apply(&destination("dev", "default", &json!({"environment": "dev"}))).await?;
        self.apply(&destination("prod", "default", &json!({"environment": "prod"}))).await?;
        Ok(())
    }

    async fn ask(&self, subject: &'static str, request: &AdmitRequest) -> Result<AdmitAnswer> {
        self.ask_traced(subject, request, None).await
    }

    async fn ask_traced(
        &self,
        subject: &'static str,
        request: &AdmitRequest,
        trace: Option<TraceParent>,
    ) -> Result<AdmitAnswer> {
        let encoded = envelope::encode(request, trace)?;
        let deadline = Instant::now() + LIMIT;
        loop {
            let (headers, payload) = (headers_of(&encoded), encoded.payload.clone());
            let reply =
                self.platform.bus.client().request_with_headers(subject, headers, payload.into()).await;
            match reply {
                Ok(reply) => {
                    let header =
                        |name: &str| reply.headers.as_ref()?.get(name).map(|v| v.as_str().to_owned());
                    return Ok(envelope::decode(header, &reply.payload)?.message);
                }
                // The inflater is still starting.
                Err(_) if Instant::now() < deadline => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => return Err(error).context("admission does not answer"),
            }
        }
    }

    pub async fn admit(&self, manifest: &Value) -> Result<AdmitAnswer> {
        self.ask(ADMIT_APPLY, &AdmitRequest::Apply { object: manifest.clone(), origin: None }).await
    }

    pub async fn apply(&self, manifest: &Value) -> Result<ObjectKey> {
        match self.admit(manifest).await? {
            AdmitAnswer::Done { object, .. } => Ok(object),
            AdmitAnswer::Refused { problems } => bail!("refused: {problems:?}"),
        }
    }

    /// Applies as the first hop of a trace.
    pub async fn apply_traced(&self, manifest: &Value, trace: TraceParent) -> Result<ObjectKey> {
        let request = AdmitRequest::Apply { object: manifest.clone(), origin: None };
        match self.ask_traced(ADMIT_APPLY, &request, Some(trace)).await? {
            AdmitAnswer::Done { object, .. } => Ok(object),
            AdmitAnswer::Refused { problems } => bail!("refused: {problems:?}"),
        }
    }

    /// All public events of a lane, in order: their headers by name.
    pub async fn events(&self, key: &ObjectKey) -> Result<Vec<BTreeMap<String, String>>> {
        let jetstream = async_nats::jetstream::new(self.platform.bus.client().clone());
        let stream = jetstream.get_stream(messages::subject::stream::EVENTS).await?;
        let subject = messages::subject::event(&LaneKey(key.clone()));
        let (mut events, mut sequence) = (Vec::new(), 0);
        while let Ok(message) = stream.direct_get_next_for_subject(&subject, Some(sequence + 1)).await {
            sequence = message.sequence;
            let headers = message.headers.iter();
            let first = headers
                .filter_map(|(name, values)| Some((name.to_string(), values.first()?.as_str().to_owned())));
            events.push(first.collect());
        }
        Ok(events)
    }

    pub async fn label(&self, key: &ObjectKey, label: &str, value: Option<&str>) -> Result<()> {
        let labels = BTreeMap::from([(label.to_owned(), value.map(Into::into))]);
        match self.ask(ADMIT_APPLY, &AdmitRequest::Label { object: key.clone(), labels }).await? {
            AdmitAnswer::Done { .. } => Ok(()),
            AdmitAnswer::Refused { problems } => bail!("refused: {problems:?}"),
        }
    }

    pub async fn delete(&self, key: &ObjectKey) -> Result<()> {
        match self.ask(ADMIT_DELETE, &AdmitRequest::Delete { object: key.clone(), origin: None }).await? {
            AdmitAnswer::Done { change: Change::Deleted, .. } => Ok(()),
            other => bail!("not deleted: {other:?}"),
        }
    }

    /// The object once it satisfies the condition.
    pub async fn until(
        &self,
        key: &ObjectKey,
        what: &str,
        holds: impl Fn(&Object) -> bool,
    ) -> Result<Object> {
        let wait = async {
            let mut events = self.platform.objects.watch(std::slice::from_ref(&key.kind)).await?;
            while let Some(event) = events.next().await {
                if let Event::Applied(found, object, _) = event?
                    && found == *key
                    && holds(&object)
                {
                    return Ok(*object);
                }
            }
            bail!("the watch ended")
        };
        if let Ok(found) = tokio::time::timeout(LIMIT, wait).await {
            found
        } else {
            let object = self.platform.objects.get(key).await?;
            let lane = self.record(key).await?;
            bail!(
                "{key}: not {what} within {LIMIT:?}; it is {:#?}, its lane {lane:#?}",
                object.map(|o| o.to_value())
            )
        }
    }

    pub async fn reconciled(&self, key: &ObjectKey) -> Result<Object> {
        let generation = self.platform.objects.get(key).await?.and_then(|object| object.metadata.generation);
        self.until(key, "Reconciled", |object| is_reconciled(object, generation)).await
    }

    /// Returns once the object is gone.
    pub async fn gone(&self, key: &ObjectKey) -> Result<()> {
        let wait = async {
            let mut events = self.platform.objects.watch(std::slice::from_ref(&key.kind)).await?;
            let mut there = false;
            while let Some(event) = events.next().await {
                match event? {
                    Event::Applied(found, ..) if found == *key => there = true,
                    Event::Deleted(found, _) if found == *key => return Ok(()),
                    Event::Synced if !there => return Ok(()),
                    _ => {}
                }
            }
            bail!("the watch ended")
        };
        let waited = tokio::time::timeout(LIMIT, wait).await;
        waited.unwrap_or_else(|_| bail!("{key} is still there after {LIMIT:?}"))
    }

    pub async fn record(&self, key: &ObjectKey) -> Result<Lane> {
        let records = Records::open(&self.platform.bus).await?;
        Ok(records.load(&LaneKey(key.clone())).await?.lane)
    }

    /// The lane once its record satisfies the condition.
    pub async fn until_lane(
        &self,
        key: &ObjectKey,
        what: &str,
        holds: impl Fn(&Lane) -> bool,
    ) -> Result<Lane> {
        let records = Records::open(&self.platform.bus).await?;
        let mut changes = self.platform.bus.watch_records(Some(&LaneKey(key.clone()))).await?;
        let wait = async {
            loop {
                let lane = records.load(&LaneKey(key.clone())).await?.lane;
                if holds(&lane) {
                    return Ok(lane);
                }
                changes.next().await;
            }
        };
        match tokio::time::timeout(LIMIT, wait).await {
            Ok(lane) => lane,
            Err(_) => bail!("{key}: its lane is not {what} within {LIMIT:?}: {:#?}", self.record(key).await?),
        }
    }

    /// Puts the lane's outstanding job into the queue once more.
    pub async fn deliver_job_again(&self, key: &ObjectKey) -> Result<()> {
        let jetstream = async_nats::jetstream::new(self.platform.bus.client().clone());
        let jobs = jetstream.get_stream(messages::subject::stream::JOB).await?;
        let subject = messages::subject::job(messages::subject::DEFAULT_POOL, &LaneKey(key.clone()));
        let message = jobs.get_last_raw_message_by_subject(&subject).await?;
        jobs.delete_message(message.sequence).await?;
        let headers = message.headers.iter().filter(|(name, _)| !name.to_string().starts_with("Nats-"));
        let mut kept = async_nats::HeaderMap::new();
        for (name, values) in headers {
            for value in values {
                kept.append(name.clone(), value.clone());
            }
        }
        jetstream.publish_with_headers(subject, kept, message.payload).await?.await?;
        Ok(())
    }

    /// Returns once a service's log says it.
    pub fn until_log(&self, service: &str, what: &str, holds: impl Fn(&str) -> bool) -> Result<()> {
        let path = self.directory.path().join(format!("{service}.log"));
        let deadline = Instant::now() + LIMIT;
        while !holds(&std::fs::read_to_string(&path)?) {
            if Instant::now() > deadline {
                bail!("{service}: not {what} within {LIMIT:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    pub fn logs(&self) -> PathBuf {
        self.directory.path().to_owned()
    }
}

pub fn is_reconciled(object: &Object, generation: Option<i64>) -> bool {
    condition(object, "Reconciled").is_some_and(|condition| condition["status"] == "True")
        && object.status().and_then(|status| status["observedGeneration"].as_i64()) == generation
}

pub fn condition<'a>(object: &'a Object, kind: &str) -> Option<&'a Value> {
    object.status()?.get("conditions")?.as_array()?.iter().find(|condition| condition["type"] == kind)
}

pub fn thing_key(namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::new(ResourceKind::new("things", "test.millrace.dev"), Some(namespace), name)
}

pub fn promise_key(name: &str) -> ObjectKey {
    ObjectKey::new(ResourceKind::new("promises", "platform.kratix.io"), None, name)
}

/// A server on a free port of this machine.
fn start_server(directory: &Path) -> Result<(Process, String)> {
    let ports = directory.join("ports");
    std::fs::create_dir_all(&ports)?;
    let config = format!(
        "host: 127.0.0.1\nport: -1\nports_file_dir: {:?}\nmax_payload: 4MB\njetstream {{ store_dir: {:?}, sync_interval: 1s }}\n",
        ports.display().to_string(),
        directory.join("jetstream").display().to_string(),
    );
    let file = directory.join("nats.conf");
    std::fs::write(&file, config)?;
    let mut command = Command::new(nats_server());
    let server = Process::start("nats-server", command.arg("-c").arg(file), directory)?;
    let ports = ports.join(format!("nats-server_{}.ports", server.pid().as_raw_nonzero()));
    let deadline = Instant::now() + LIMIT;
    loop {
        let text = std::fs::read_to_string(&ports).unwrap_or_default();
        let found: Option<Value> = serde_json::from_str(&text).ok();
        if let Some(url) = found.as_ref().and_then(|found| found["nats"][0].as_str()) {
            return Ok((server, url.to_owned()));
        }
        if Instant::now() > deadline {
            bail!("nats-server does not start; see {}", directory.join("nats-server.log").display());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
