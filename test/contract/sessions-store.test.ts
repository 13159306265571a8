import { expect } from 'chai';
import { bootstrap } from '../../src/control-plane/store/bootstrap.js';
import type { Store } from '../../src/control-plane/store/store.js';
import { folder, forEachStore } from '../support/stores.js';

const everything = { offset: 0, limit: 1000 };
const day = 24 * 60 * 60_000;

function here<T>(value: T | string | null): Exclude<T, string> {
  if (typeof value === 'string' || value === null) throw new Error(`got ${value}`);
  return value as Exclude<T, string>;
}

describe('sessions and sign-in in the store', () => {
  forEachStore(({ open }) => {
    let store: Store;
    let organisationId: string;
    let now = 1_800_000_000_000;
    let serial = 0;

    before(async () => {
      const dataDir = folder();
      store = await open(dataDir, () => now);
      organisationId = here(await bootstrap(store, { dataDir, simulated: false })).organisation_id;
    });
    after(() => store.close());

    const makeUser = async () =>
      here(await store.users.create(organisationId, { email: `S${++serial}@example.com`, role: 'member' }));
    const begin = async (userId: string) =>
      here(await store.sessions.create(organisationId, { userId, address: '192.0.2.1', userAgent: 'test' }));

    it('finds a session by its token alone, until it expires', async () => {
      const { id: userId } = await makeUser();
      const { session, token } = await begin(userId);
      expect(await store.sessions.findByToken(token.reveal())).to.deep.equal(session);
      expect(await store.sessions.findByToken(`${token.reveal()}x`)).to.equal(null);
      expect(await store.sessions.get('another', session.id)).to.equal(null);
      now += 7 * day;
      expect(await store.sessions.findByToken(token.reveal())).to.equal(null);
      await store.prune();
      expect((await store.sessions.list(organisationId, { userId }, everything)).total).to.equal(0);
    });

    it('ends one session or all of a user, and those of a user who is removed', async () => {
      const { id: userId } = await makeUser();
      const other = await begin((await makeUser()).id);
      const [one, two, three] = [await begin(userId), await begin(userId), await begin(userId)];
      expect(await store.sessions.end('another', one.session.id)).to.equal('missing');
      expect(await store.sessions.end(organisationId, one.session.id)).to.deep.equal(one.session);
      expect(await store.sessions.end(organisationId, one.session.id)).to.equal('missing');
      expect(await store.sessions.endAll(organisationId, userId)).to.equal(2);
      for (const { token } of [one, two, three])
        expect(await store.sessions.findByToken(token.reveal())).to.equal(null);
      expect(await store.sessions.findByToken(other.token.reveal())).to.deep.equal(other.session);
      await store.users.delete(organisationId, other.session.userId);
      expect(await store.sessions.findByToken(other.token.reveal())).to.equal(null);
    });

    it('keeps a hundred sessions of a user, the newest', async () => {
      const { id: userId } = await makeUser();
      const first = await begin(userId);
      for (let i = 0; i < 100; i++) {
        now += 1;
        await begin(userId);
      }
      expect((await store.sessions.list(organisationId, { userId }, everything)).total).to.equal(100);
      expect(await store.sessions.findByToken(first.token.reveal())).to.equal(null);
    });

    it('lists the sessions that began after a time, and where they were last used', async () => {
      const { id: userId } = await makeUser();
      const { session } = await begin(userId);
      expect((await store.sessions.list(organisationId, { userId, since: now }, everything)).total).to.equal(
        0,
      );
      now += 61_000;
      await store.sessions.seen(session, '192.0.2.9', 'other\0');
      const { rows } = await store.sessions.list(organisationId, { userId, since: now - 70_000 }, everything);
      expect(rows).to.deep.equal([{ ...session, seenAt: now, address: '192.0.2.9', userAgent: 'other' }]);
    });

    it('finds users by their address with the hash of their password', async () => {
      const user = await makeUser();
      const email = user.email.toUpperCase();
      expect(await store.signIn.findByEmail(email)).to.deep.equal([{ user, passwordHash: null }]);
      expect(await store.signIn.setPassword('another', user.id, 'h')).to.equal('missing');
      expect(await store.signIn.setPassword(organisationId, user.id, 'h1')).to.equal('set');
      expect(await store.signIn.setPassword(organisationId, user.id, 'h2')).to.equal('set');
      expect(await store.signIn.findByEmail(email)).to.deep.equal([{ user, passwordHash: 'h2' }]);
      expect(await store.signIn.findByEmail(email, 'another')).to.deep.equal([]);
      expect(await store.signIn.findByEmail('a\0@example.com')).to.deep.equal([]);
    });

    it('accepts a link once, for a day, and no longer when there is a newer one', async () => {
      const { id } = await makeUser();
      const old = here(await store.signIn.makeLink(organisationId, id));
      const { link, token } = here(await store.signIn.makeLink(organisationId, id));
      expect(await store.signIn.findLink(old.token.reveal())).to.equal(null);
      expect(await store.signIn.findLink(token.reveal())).to.deep.equal(link);
      const used = await Promise.all([1, 2, 3].map(() => store.signIn.useLink(organisationId, link.id)));
      expect(used.filter(Boolean)).to.have.lengthOf(1);
      const late = here(await store.signIn.makeLink(organisationId, null));
      now += day;
      expect(await store.signIn.findLink(late.token.reveal())).to.equal(null);
      expect(await store.signIn.makeLink(organisationId, 'nobody')).to.equal('missing');
    });

    it('accepts a state once', async () => {
      const used = await Promise.all([1, 2, 3].map(() => store.signIn.useState('s', now + day)));
      expect(used.filter(Boolean)).to.have.lengthOf(1);
    });

    it('finds a user again by issuer and subject', async () => {
      const user = await makeUser();
      await store.signIn.addIdentity(organisationId, user.id, 'https://id.example', 's1');
      expect(await store.signIn.userOfIdentity(organisationId, 'https://id.example', 's1')).to.deep.equal(
        user,
      );
      expect(await store.signIn.userOfIdentity(organisationId, 'https://other.example', 's1')).to.equal(null);
      expect(await store.signIn.userOfIdentity('another', 'https://id.example', 's1')).to.equal(null);
    });
  });
});
