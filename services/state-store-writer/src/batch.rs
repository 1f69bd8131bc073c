//! One batch: what the records want now, as changes of a repository; and what each is answered.

use std::collections::{BTreeMap, BTreeSet};

use domain::digest::Digest;
use domain::footprint::Place;
use domain::id::ObjectKey;
use domain::lane::{Lane, WriteResult};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use messages::result::{DestinationAnswer, ResultBody, ResultMessage, WriteAnswer};
use messages::subject;
use messages::trace::TraceParent;
use messages::write::{WriteCommand, WriteTarget};
use resources::DestinationSpec;
use runtime::bus::{Delivery, Disposition};
use runtime::pack;
use runtime::telemetry::chain;
use std::time::Duration;

use crate::canary::{self, Arrangement};
use crate::commit_message::CommitMessage;
use crate::service::{Error, Repositories, StoreName, Writer};
use crate::store::{self, Change, Committed, Revision, StorePath};

/// Tries against a branch that others move all the time.
const ATTEMPTS: u32 = 10;
const AT_A_TIME: usize = 16;

/// One command of the batch.
#[derive(Clone)]
struct Order {
    target: WriteTarget,
    trace: Option<TraceParent>,
}

/// What an order comes to in one repository.
#[derive(Default)]
struct Work {
    changes: Vec<Change>,
    updated: BTreeSet<String>,
    removed: BTreeSet<String>,
    canary: bool,
    /// An earlier command of this lane and store was never answered: even with nothing to do, the branch must move,
    /// so that a push that a frozen writer has prepared cannot land.
    must_move: bool,
}

/// What is wanted for one order, by repository and branch.
struct Wanted {
    /// Of the record it was read from; none for a Destination.
    serial: Option<u64>,
    has_revision: bool,
    work: BTreeMap<(String, String), Work>,
}

type Answer = Result<Option<String>, String>;

impl Writer {
    /// What becomes of each message of the batch.
    pub(crate) async fn write_batch(
        &self,
        repositories: &mut Repositories,
        batch: &[Delivery],
    ) -> Vec<Disposition> {
        let decoded: Vec<Result<Order, String>> = batch
            .iter()
            .map(|delivery| match delivery.decode::<WriteCommand>() {
                Ok(received) => Ok(Order { target: received.message.target, trace: received.trace }),
                Err(error) => Err(chain(&error)),
            })
            .collect();
        let orders: Vec<Order> = decoded.iter().filter_map(|order| order.as_ref().ok().cloned()).collect();
        let mut answered = self.carry_out(repositories, &orders).await.into_iter();
        let dispositions = decoded.into_iter().map(|order| match order {
            Ok(_) => answered.next().unwrap_or(Disposition::Retry(Duration::from_secs(1))),
            Err(reason) => Disposition::Dead(reason),
        });
        dispositions.collect()
    }

    async fn carry_out(&self, repositories: &mut Repositories, orders: &[Order]) -> Vec<Disposition> {
        let mut answers: Vec<Answer> = orders.iter().map(|_| Ok(None)).collect();
        let store = repositories.name.clone();
        let mut wanted = self.read(&store, orders, &mut answers).await;
        let places: BTreeSet<(String, String)> =
            wanted.iter().flatten().flat_map(|w| w.work.keys().cloned()).collect();
        for place in places {
            self.commit(repositories, &place, orders, &mut wanted, &mut answers).await;
        }
        let tip = wanted.into_iter().zip(answers).zip(orders);
        let sent: Vec<BoxFuture<'_, _>> =
            tip.map(|((wanted, answer), order)| self.answer(&store, order, wanted, answer).boxed()).collect();
        futures::stream::iter(sent).buffered(AT_A_TIME).collect().await
    }

    /// Reads what every order wants now. An order whose want cannot be read is answered with the reason.
    async fn read(&self, store: &StoreName, orders: &[Order], answers: &mut [Answer]) -> Vec<Option<Wanted>> {
        let read: Vec<BoxFuture<'_, _>> =
            orders.iter().map(|order| self.wanted(store, order).boxed()).collect();
        let read: Vec<Result<Option<Wanted>, Error>> =
            futures::stream::iter(read).buffered(AT_A_TIME).collect().await;
        let read = read.into_iter().zip(answers).map(|(wanted, answer)| match wanted {
            Ok(wanted) => wanted,
            Err(error) => {
                *answer = Err(chain(&error));
                None
            }
        });
        read.collect()
    }

    async fn wanted(&self, store: &StoreName, order: &Order) -> Result<Option<Wanted>, Error> {
        match &order.target {
            WriteTarget::Lane { lane, .. } => {
                let lane = self.records.load(lane).await?.lane;
                self.wanted_of_lane(store, &lane).await
            }
            WriteTarget::Destination { destination, .. } => self.wanted_of_destination(destination).await,
        }
    }

    async fn wanted_of_lane(&self, store: &StoreName, lane: &Lane) -> Result<Option<Wanted>, Error> {
        let Some(writes) = lane.footprint.stores.get(&store.id).filter(|writes| !writes.is_answered()) else {
            return Ok(None);
        };
        let mut work: BTreeMap<(String, String), Work> = BTreeMap::new();
        for placement in lane.footprint.placements.iter().filter(|p| p.store == store.id) {
            let Place { repository, branch, prefix } = &placement.place;
            let place = work.entry((repository.clone(), branch.clone())).or_default();
            place.must_move = writes.serial > writes.answered + 1;
            let prefix = StorePath::parse(prefix).map_err(|error| unusable(store, &error))?;
            if let Some(digest) = &placement.wanted {
                place.changes.push(Change::Replace { prefix, files: self.files(store, digest).await? });
                if placement.wanted != placement.confirmed {
                    place.updated.insert(placement.name.clone());
                }
            } else {
                place.changes.push(Change::Remove { prefix });
                place.removed.insert(placement.name.clone());
            }
        }
        let (serial, has_revision) = (Some(writes.serial), writes.revision.is_some());
        Ok(Some(Wanted { serial, has_revision, work }))
    }

    async fn files(
        &self,
        store: &StoreName,
        digest: &Digest,
    ) -> Result<BTreeMap<StorePath, bytes::Bytes>, Error> {
        let files = pack::unpack(&self.platform.artifacts.get(digest).await?)?;
        files
            .into_iter()
            .map(|(path, content)| match StorePath::parse(&path) {
                Ok(path) => Ok((path, content)),
                Err(error) => Err(unusable(store, &error)),
            })
            .collect()
    }

    async fn wanted_of_destination(&self, key: &ObjectKey) -> Result<Option<Wanted>, Error> {
        let Some(object) = self.platform.objects.get(key).await? else { return Ok(None) };
        let contents = self.places.now();
        let stores: Vec<_> = contents
            .objects
            .iter()
            .filter(|(key, _)| key.kind.plural == "gitstatestores")
            .map(|(_, object)| (**object).clone())
            .collect();
        let known = inflation::destinations::destinations(std::slice::from_ref(&object), &stores, 0);
        let location = known.all.into_values().next().and_then(|destination| destination.location);
        let Some(location) = location else { return Ok(None) };
        let spec: DestinationSpec = object
            .parse_spec()
            .map_err(|error| store::Error::Unusable { store: key.readable(), reason: chain(&error) })?;
        let path = Some(&*location.path).filter(|path| !path.is_empty()).map(StorePath::parse).transpose();
        let path = path
            .map_err(|error| store::Error::Unusable { store: key.readable(), reason: error.to_string() })?;
        let changes = if spec.init_workloads.enabled {
            canary::put(path.as_ref(), Arrangement::Nested)
        } else {
            canary::remove(path.as_ref(), Arrangement::Nested)
        };
        let work = Work { changes: changes.into(), canary: true, ..Work::default() };
        let work = BTreeMap::from([((location.repository, location.branch), work)]);
        Ok(Some(Wanted { serial: None, has_revision: false, work }))
    }

    /// Makes one commit of what all orders want in one repository, and again after each refusal, from the records as
    /// they then are.
    async fn commit(
        &self,
        repositories: &mut Repositories,
        place: &(String, String),
        orders: &[Order],
        wanted: &mut Vec<Option<Wanted>>,
        answers: &mut [Answer],
    ) {
        for attempt in 0..ATTEMPTS {
            match self.try_commit(repositories, place, orders, wanted, answers, attempt > 0).await {
                Ok(Some(committed)) => return remember(&committed, place, wanted, answers),
                Ok(None) => {} // the branch moved, or an order was left out: decide again
                Err(error) => {
                    Self::close(repositories); // its settings may be what is wrong
                    return fail_all(&chain(&error), place, wanted, answers);
                }
            }
        }
        fail_all("others move the branch all the time", place, wanted, answers);
    }

    /// The branch's head must be known before the records are read: what an older record wanted could else land on
    /// top of what a newer one was answered for. None: to be tried again.
    async fn try_commit(
        &self,
        repositories: &mut Repositories,
        place: &(String, String),
        orders: &[Order],
        wanted: &mut Vec<Option<Wanted>>,
        answers: &mut [Answer],
        again: bool,
    ) -> Result<Option<Committed>, Error> {
        let name = repositories.name.clone();
        let open = self.repository(repositories, &place.0, &place.1)?;
        let (head, looked) = match open.head.take() {
            Some(head) => (head, false),
            None => (open.store.snapshot().await?, true),
        };
        if again || looked {
            self.read_again(&name, orders, wanted, answers).await;
        }
        let batch = Batch::of(place, wanted, answers);
        match open.store.commit(&head, &batch.changes, &batch.message(), batch.names.must_move).await {
            Ok(Committed::Stale) => Ok(None),
            Ok(Committed::Done { revision }) => {
                open.head = Some(Revision::At(revision.clone()));
                Ok(Some(Committed::Done { revision }))
            }
            // That nothing is to be done must be true of what the store holds now.
            Ok(Committed::Unchanged { revision }) => {
                let now = if looked { head.clone() } else { open.store.snapshot().await? };
                let same = now == head;
                open.head = Some(now);
                Ok(same.then_some(Committed::Unchanged { revision }))
            }
            Err(store::Error::Conflicts { conflicts, .. }) => {
                open.head = Some(head);
                for conflict in conflicts {
                    batch.refuse(&conflict, answers);
                }
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// An order whose record has moved on is left to the command that was given for it since.
    async fn read_again(
        &self,
        store: &StoreName,
        orders: &[Order],
        wanted: &mut Vec<Option<Wanted>>,
        answers: &mut [Answer],
    ) {
        let now = self.read(store, orders, answers).await;
        let before = std::mem::take(wanted);
        let same = |(before, now): (Option<Wanted>, Option<Wanted>)| {
            let serial = before?.serial;
            now.filter(|now| now.serial == serial)
        };
        *wanted = before.into_iter().zip(now).map(same).collect();
    }

    async fn answer(
        &self,
        store: &StoreName,
        order: &Order,
        wanted: Option<Wanted>,
        answer: Answer,
    ) -> Disposition {
        let result = |answer: Answer| match answer {
            Ok(revision) => WriteResult::Written { revision },
            Err(message) => WriteResult::Failed { message },
        };
        let body = match (&order.target, wanted) {
            (WriteTarget::Lane { lane, .. }, Some(Wanted { serial: Some(serial), .. })) => {
                let store = store.id.clone();
                ResultBody::Write(WriteAnswer { lane: lane.clone(), store, serial, answer: result(answer) })
            }
            // What the record wanted could not be read, so the answer is about what was ordered.
            (WriteTarget::Lane { lane, serial }, _) if answer.is_err() => {
                let (store, serial) = (store.id.clone(), *serial);
                ResultBody::Write(WriteAnswer { lane: lane.clone(), store, serial, answer: result(answer) })
            }
            (WriteTarget::Lane { .. }, _) => return Disposition::Ack, // answered before
            (WriteTarget::Destination { destination, generation }, _) => {
                ResultBody::Destination(DestinationAnswer {
                    destination: destination.clone(),
                    generation: *generation,
                    store: store.key.clone(),
                    answer: result(answer),
                })
            }
        };
        let about = match &order.target {
            WriteTarget::Lane { lane, .. } => &lane.0,
            WriteTarget::Destination { destination, .. } => destination,
        };
        match self.publish(about, body, order.trace).await {
            Ok(()) => Disposition::Ack,
            Err(error) => {
                tracing::warn!(%about, error = chain(&error), "the answer is given again");
                Disposition::Retry(Duration::from_secs(1))
            }
        }
    }

    async fn publish(
        &self,
        about: &ObjectKey,
        body: ResultBody,
        trace: Option<TraceParent>,
    ) -> Result<(), Error> {
        let subject = subject::result(about);
        let encoded = self.platform.bus.encode(&subject, &ResultMessage { body }, trace)?;
        Ok(self.platform.bus.publish_surely(&subject, &encoded, None).await?)
    }
}

/// All that one commit is made of.
struct Batch {
    changes: Vec<Change>,
    /// Which order each change is for.
    owners: Vec<usize>,
    names: Work,
}

impl Batch {
    fn of(place: &(String, String), wanted: &[Option<Wanted>], answers: &[Answer]) -> Self {
        let mut batch = Self { changes: Vec::new(), owners: Vec::new(), names: Work::default() };
        for (index, (wanted, _)) in
            wanted.iter().zip(answers).enumerate().filter(|(_, (_, answer))| answer.is_ok())
        {
            let Some(work) = wanted.as_ref().and_then(|wanted| wanted.work.get(place)) else { continue };
            batch.changes.extend(work.changes.iter().cloned());
            batch.owners.extend(work.changes.iter().map(|_| index));
            batch.names.updated.extend(work.updated.iter().cloned());
            batch.names.removed.extend(work.removed.iter().cloned());
            batch.names.canary |= work.canary;
            batch.names.must_move |= work.must_move;
        }
        batch
    }

    fn message(&self) -> CommitMessage {
        let Work { updated, removed, canary, .. } = &self.names;
        if *canary && updated.is_empty() && removed.is_empty() {
            return CommitMessage::of_canary();
        }
        CommitMessage::of_batch(updated.iter().map(String::as_str), removed.iter().map(String::as_str))
    }

    fn refuse(&self, conflict: &store::Conflict, answers: &mut [Answer]) {
        let owner = self.owners.get(conflict.change);
        if let Some(answer) = owner.and_then(|owner| answers.get_mut(*owner)) {
            *answer = Err(conflict.to_string());
        }
    }
}

fn unusable(store: &StoreName, reason: &dyn std::fmt::Display) -> Error {
    store::Error::Unusable { store: store.key.readable(), reason: reason.to_string() }.into()
}

/// Those of the batch that the commit was for.
fn of_place<'a>(
    place: &'a (String, String),
    wanted: &'a [Option<Wanted>],
    answers: &'a mut [Answer],
) -> impl Iterator<Item = (&'a Wanted, &'a mut Answer)> {
    let pairs = wanted.iter().zip(answers).filter_map(|(wanted, answer)| Some((wanted.as_ref()?, answer)));
    pairs.filter(move |(wanted, answer)| wanted.work.contains_key(place) && answer.is_ok())
}

fn remember(
    committed: &Committed,
    place: &(String, String),
    wanted: &[Option<Wanted>],
    answers: &mut [Answer],
) {
    for (wanted, answer) in of_place(place, wanted, answers) {
        *answer = Ok(match committed {
            Committed::Done { revision } => Some(revision.clone()),
            // Nothing new: the revision stays what it was (kratix-F8), or is what the store holds.
            Committed::Unchanged { revision: Revision::At(id) } if !wanted.has_revision => Some(id.clone()),
            Committed::Unchanged { .. } | Committed::Stale => None,
        });
    }
}

fn fail_all(message: &str, place: &(String, String), wanted: &[Option<Wanted>], answers: &mut [Answer]) {
    for (_, answer) in of_place(place, wanted, answers) {
        *answer = Err(message.to_owned());
    }
}
