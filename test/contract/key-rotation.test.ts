// lane: slow
import { expect } from 'chai';
import { openOutbox } from '../../src/control-plane/mail/outbox.js';
import { keySchedule, runKeyDuties } from '../../src/control-plane/rotation/key-duties.js';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Mail, NewApiKey, RotationPolicy, Store } from '../../src/control-plane/store/store.js';
import { ScheduleRunner } from '../../src/process/node/schedule-runner.js';
import { seeded } from '../support/seeded.js';
import { folder, forEachStore } from '../support/stores.js';
import { scaled } from '../support/time-limits.js';

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const halfHourMs = 30 * 60_000;
const hourMs = 2 * halfHourMs;
const dayMs = 24 * hourMs;
/** A Sunday, 12:00. */
const start = Date.UTC(2026, 10, 22, 12);
/** Mondays, firsts of a month, and every 30th day before the expiry, of so many days. */
const year = { count: 400, weekly: 58, monthly: 13, days: 6, dated: 1, expiry: Date.UTC(2027, 5, 1) };
const quarter = { count: 95, weekly: 14, monthly: 3, days: 3, dated: 1, expiry: Date.UTC(2027, 1, 22) };
const everything = { offset: 0, limit: 100_000 };

describe('keys in time', function () {
  this.timeout(scaled(120_000));

  forEachStore(({ open, dialect }) => {
    // A year takes some ten thousand statements, one after another: WHOLE_LOAD=true.
    const { count: days, expiry, ...rotations } = process.env['WHOLE_LOAD'] === 'true' ? year : quarter;
    let now: number;
    let stores: Store[];
    let store: Store;
    let runners: ScheduleRunner[];
    let organisationId: string;
    let workspaceId: string;
    /** Called within each unit of work, before it is committed: a node dies here where it throws. */
    let onUnit: (event: string) => void;

    beforeEach(async () => {
      const dataDir = folder();
      now = start;
      onUnit = () => {};
      stores = [await open(dataDir, () => now)];
      if (dialect === 'postgres') stores.push(await open(dataDir, () => now));
      store = stores[0]!;
      await bootstrap(store, { dataDir, simulated: false });
      ({ organisationId, workspaceId } = (await store.first())!);
      await store.users.create(organisationId, { email: 'owner@example.com', role: 'owner', workspaces: [] });
      runners = stores.map(runnerOf);
      // The first look makes the schedule.
      await look();
      now += 11_000;
    });
    afterEach(() => Promise.all(stores.map((one) => one.close())));

    function runnerOf(own: Store, node: number): ScheduleRunner {
      const runner = new ScheduleRunner({
        schedules: own.schedules,
        nodeId: `node ${node}`,
        intervals: { [keySchedule]: 10 },
        log: silent,
        clock: () => now,
      });
      const outbox = openOutbox(own);
      const add = async (mail: Parameters<typeof outbox.add>[0]): Promise<void> => {
        await outbox.add(mail);
        onUnit(mail.event);
      };
      runner.add(keySchedule, (run) =>
        runKeyDuties({ store: own, outbox: { isOpen: true, add }, forget: async () => {}, log: silent }, run),
      );
      return runner;
    }

    /** Nodes look at the same moment, and what has begun ends. */
    async function look(nodes = runners): Promise<void> {
      await Promise.all(nodes.map((runner) => runner.look()));
      await Promise.all(nodes.map((runner) => runner.idle()));
    }

    const passTo = async (time: number, nodes = runners): Promise<void> => {
      now = time;
      await look(nodes);
    };

    async function keyOf(name: string, more: Partial<NewApiKey> = {}): Promise<{ id: string; text: string }> {
      const made = await store.keys.create(organisationId, {
        ...{ type: 'workspace-service', workspaceId, name, scopes: ['completions.write'] },
        ...{ alertEmails: ['shop@example.com'], ...more },
      });
      if (made === 'missing') throw new Error('missing');
      return { id: made.key.id, text: made.text.reveal() };
    }

    const policy = (more: Partial<RotationPolicy>): RotationPolicy => ({
      ...{ period: null, periodDays: null, transitionMs: halfHourMs, nextRotationAt: start },
      ...more,
    });

    const mailsOf = async (id: string): Promise<readonly Mail[]> =>
      (await store.mails.list(organisationId, {}, everything)).rows.filter((mail) => mail.resourceId === id);

    /** How many mails of each kind each recipient got, which must be the same for both. */
    async function kindsOf(id: string): Promise<Record<string, number>> {
      const counted = (recipient: string, mails: readonly Mail[]) => {
        const counts: Record<string, number> = {};
        for (const mail of mails)
          if (mail.recipient === recipient) counts[mail.kind] = (counts[mail.kind] ?? 0) + 1;
        return counts;
      };
      const mails = await mailsOf(id);
      const counts = counted('shop@example.com', mails);
      expect(counted('owner@example.com', mails)).to.deep.equal(counts);
      return counts;
    }

    /** Is something due for one of these keys within a day and a half? */
    async function isNear(ids: readonly string[]): Promise<boolean> {
      const keys = await Promise.all(ids.map((id) => store.keys.get(organisationId, id)));
      const dates = keys.flatMap((key) => [
        key?.rotationPolicy?.nextRotationAt,
        key?.transitionExpiresAt,
        key?.expiresAt,
      ]);
      return dates.some((date) => date && Math.abs(date - now) < 1.5 * dayMs);
    }

    const isValid = async (text: string): Promise<boolean> => {
      const found = await store.keys.findByHash(store.hashKey(text));
      return found !== null && (found.expiresAt === null || found.expiresAt > now);
    };

    it(`are rotated, expire and are mailed about exactly once in ${days} days, though nodes die in between`, async () => {
      const weekly = await keyOf('weekly', {
        rotationPolicy: policy({ period: 'weekly', nextRotationAt: Date.UTC(2026, 10, 23) }),
      });
      const monthly = await keyOf('monthly', {
        rotationPolicy: policy({
          ...{ period: 'monthly', nextRotationAt: Date.UTC(2026, 11, 1) },
          transitionMs: 3 * dayMs,
        }),
      });
      const ending = await keyOf('ending', {
        rotationPolicy: policy({ periodDays: 30, nextRotationAt: Date.UTC(2026, 11, 22) }),
        expiresAt: expiry,
      });
      const dated = await keyOf('dated', {
        rotationPolicy: policy({ nextRotationAt: Date.UTC(2027, 0, 10) }),
      });
      const texts = new Map([weekly, monthly, ending, dated].map(({ id, text }) => [id, [text]]));
      const random = seeded(18);
      const died = new Set<string>();
      onUnit = (event) => {
        // Once for an event: its time is that of the try.
        const once = `${event.replace(/:\d+$/, '')} ${Math.round(now / dayMs)}`;
        if (died.has(once) || random() > 0.3) return;
        died.add(once);
        throw new Error('This node dies.');
      };
      for (let day = 0; day < days; day++) {
        // Days on which nothing is near are passed over: the test would take a minute longer.
        now = start - 12 * hourMs + day * dayMs + 12.1 * hourMs;
        if (!(await isNear([...texts.keys()]))) continue;
        for (const at of [12.1, 24.02]) {
          const deaths = died.size;
          // One of the nodes is away on most days.
          const nodes = day % 4 === 0 ? runners : [runners[day % runners.length]!];
          await passTo(start - 12 * hourMs + day * dayMs + at * hourMs, nodes);
          // What a node that died has left, the next run does.
          if (died.size > deaths) await passTo(now + 11_000);
        }
        for (const [id, known] of texts) {
          const revealed = await store.keyRotation.reveal(organisationId, id);
          if (revealed !== null) known.push(revealed.reveal());
          const valid: boolean[] = [];
          for (const text of known.slice(-3)) valid.push(await isValid(text));
          const isExpired = id === ending.id && now >= expiry;
          const count = valid.filter(Boolean).length;
          expect(count, `valid texts on day ${day}`).to.be.within(isExpired ? 0 : 1, isExpired ? 0 : 2);
          expect(await isValid(known.at(-1)!)).to.equal(!isExpired);
        }
      }
      expect(texts.get(weekly.id)).to.have.length(1 + rotations.weekly);
      expect(await kindsOf(weekly.id)).to.deep.equal({
        key_rotated: rotations.weekly,
        rotation_ahead: rotations.weekly,
      });
      expect(await kindsOf(monthly.id)).to.deep.equal({
        key_rotated: rotations.monthly,
        rotation_ahead: rotations.monthly,
        old_secret_ending: rotations.monthly,
      });
      expect(await kindsOf(ending.id)).to.deep.equal({
        key_rotated: rotations.days,
        rotation_ahead: rotations.days,
        ...{ key_expiring: 1, key_expired: 1 },
      });
      expect(await kindsOf(dated.id)).to.deep.equal({ key_rotated: 1, rotation_ahead: 1 });
      const audited = await store.audit.list(organisationId, { userType: 'schedule' }, everything);
      expect(audited.total).to.equal(Object.values(rotations).reduce((sum, one) => sum + one));
    });

    it('that were due three times while all nodes slept are rotated once', async () => {
      const { id, text } = await keyOf('weekly', {
        rotationPolicy: policy({ period: 'weekly', nextRotationAt: Date.UTC(2026, 10, 23) }),
      });
      await passTo(now + 11_000);
      const wednesday = Date.UTC(2026, 11, 9, 15);
      await passTo(wednesday);
      await passTo(wednesday + 11_000);
      const key = (await store.keys.get(organisationId, id))!;
      expect(key.lastRotatedAt).to.equal(wednesday);
      expect(key.rotationPolicy?.nextRotationAt).to.equal(Date.UTC(2026, 11, 14));
      expect(key.transitionExpiresAt).to.equal(wednesday + halfHourMs);
      expect(await kindsOf(id)).to.deep.equal({ rotation_ahead: 1, key_rotated: 1 });
      expect(await isValid(text)).to.equal(true);
      now = wednesday + halfHourMs;
      expect(await isValid(text)).to.equal(false);
      const { rows } = await store.audit.list(organisationId, { resourceId: id }, everything);
      expect(rows.map(({ action, userType }) => [action, userType])).to.deep.equal([['rotate', 'schedule']]);
      expect(JSON.parse(rows[0]!.requestBody)).to.deep.equal({
        api_key_id: id,
        rotation_mode: 'auto',
        old_key_masked: key.masked.slice(0, 2) + text.slice(-3).padStart(8, '*'),
        transition_expires_at: new Date(wednesday + halfHourMs).toISOString(),
      });
    });

    it('in transition are rotated by schedule only when it has ended', async () => {
      const due = Date.UTC(2026, 10, 23);
      const { id, text } = await keyOf('weekly', {
        rotationPolicy: policy({ period: 'weekly', nextRotationAt: due }),
      });
      const byHand = now;
      await store.keys.rotate(organisationId, id, dayMs);
      await passTo(due + hourMs);
      expect((await store.keys.get(organisationId, id))?.lastRotatedAt).to.equal(byHand);
      expect(await isValid(text)).to.equal(true);
      await passTo(byHand + dayMs);
      expect((await store.keys.get(organisationId, id))?.lastRotatedAt).to.equal(now);
      expect(await isValid(text)).to.equal(false);
    });

    it('show the new secret once, sealed until then, and no longer after a rotation by hand', async () => {
      const due = Date.UTC(2026, 10, 23);
      const made = () =>
        keyOf('weekly', { rotationPolicy: policy({ period: 'weekly', nextRotationAt: due }) });
      const [one, two, three] = [await made(), await made(), await made()];
      expect(await store.keyRotation.reveal(organisationId, one.id)).to.equal(null);
      await passTo(due);
      expect(await store.keyRotation.reveal('other', one.id)).to.equal(null);
      const reveal = () => store.keyRotation.reveal(organisationId, one.id);
      const found = (await Promise.all([reveal(), reveal()])).filter((secret) => secret !== null);
      expect(found).to.have.length(1);
      expect(await isValid(found[0]!.reveal())).to.equal(true);
      expect(JSON.stringify(await mailsOf(one.id))).not.to.include(found[0]!.reveal());

      // Refused during the transition, which leaves the secret where it is.
      expect(await store.keys.rotate(organisationId, two.id, halfHourMs)).to.equal('rotating');
      now += halfHourMs;
      await store.keys.rotate(organisationId, two.id, halfHourMs);
      expect(await store.keyRotation.reveal(organisationId, two.id)).to.equal(null);
      await store.keys.delete(organisationId, three.id);
      expect(await store.keyRotation.reveal(organisationId, three.id)).to.equal(null);
    });

    it('that no request can use are not rotated, and their next date is set', async () => {
      const due = Date.UTC(2026, 10, 23);
      const { id, text } = await keyOf('weekly', {
        rotationPolicy: policy({ period: 'weekly', nextRotationAt: due }),
        expiresAt: start + hourMs,
      });
      await passTo(due + hourMs);
      const key = (await store.keys.get(organisationId, id))!;
      expect(key).to.include({ lastRotatedAt: null, isExpired: true });
      expect(key.rotationPolicy?.nextRotationAt).to.equal(due + 7 * dayMs);
      expect(await kindsOf(id)).to.deep.equal({ key_expired: 1 });

      // A later expiry makes it active again, and is notified of as the first one was.
      const again = now + 2 * dayMs;
      await store.keys.update(organisationId, id, { expiresAt: again });
      expect(await isValid(text)).to.equal(true);
      await passTo(again - hourMs);
      await passTo(again + hourMs);
      expect(await kindsOf(id)).to.deep.equal({ key_expired: 2, key_expiring: 1 });
    });
  });
});
