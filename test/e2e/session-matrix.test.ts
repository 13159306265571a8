// lane: slow
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Message } from '../../proto/codec.js';
import { type AdminMethod, adminMethod, adminTree } from '../../proto/tree.js';
import { type SecurityFlag, securityFlags } from '../../src/common/access/security-settings.js';
import { empty } from '../../src/control-plane/administration/shape/json.js';
import { type Place, requests } from '../support/access-requests.js';
import { makeWorld, type Outcome, type World } from '../support/access-world.js';
import { root } from '../support/root.js';

/**
 * What people may do, by a session and by a key of their own: every method, in every role, with every security setting on
 * and off. session-matrix.json says what must come of it: outcomes with the defaults, with every setting on and with
 * every setting off, and which settings the difference is due to. `ACCESS_MATRIX=write` writes it anew.
 */

type Matrix = Record<string, Record<string, readonly string[]>>;
/** By row and person. */
type Outcomes = Readonly<Record<string, Readonly<Record<string, Outcome>>>>;

const file = join(root, 'test/e2e/session-matrix.json');
const readMatrix = (): Matrix => JSON.parse(readFileSync(file, 'utf8')) as Matrix;
const methodOf = (row: string): AdminMethod => adminMethod(row.split(' ')[0]!);
const isPublic = ({ access }: AdminMethod): boolean => access.scopes.length === 0;

/** Flags of admins as well: an admin of the organisation is bound by theirs. */
type Flags = Partial<Record<SecurityFlag, boolean>>;
const all = (on: boolean): Flags => Object.fromEntries(securityFlags.map((flag) => [flag, on]));
const without = (...flags: SecurityFlag[]): Flags => ({
  ...all(true),
  ...Object.fromEntries(flags.map((flag) => [flag, false])),
});

describe('the matrix of what people may do', () => {
  let world: World;
  let people: Record<string, string>;
  const rows = Object.keys(requests).filter((row) => !isPublic(methodOf(row)));
  const matrix: Matrix = {};
  const disagreements: string[] = [];
  const reached: string[] = [];

  before(async function () {
    this.timeout(240_000);
    world = await makeWorld();
    const keys = Object.entries(world.actors).filter(([name]) => name.startsWith('user '));
    people = { ...Object.fromEntries(keys), ...world.sessions } as Record<string, string>;
    const [on, off] = [await outcomesIn(all(true), 'grpc'), await outcomesIn(all(false), 'rest')];
    const differing: (readonly [string, string])[] = [];
    for (const row of rows)
      for (const who of Object.keys(people)) {
        const [one, other] = [on[row]![who]!, off[row]![who]!];
        // Where the settings make no difference, this has compared the protocols.
        if (one.code === other.code) agree(row, who, one, other);
        else differing.push([row, who]);
      }
    const usual = await outcomesIn({}, 'grpc');
    await inForce({}, async () => {
      for (const [row, who] of differing)
        agree(row, who, usual[row]![who]!, await call(row, world.places.own, who, 'rest'));
    });
    const due = await flagsBehind(differing, on);
    for (const row of rows) {
      const who: Record<string, string[]> = {};
      for (const name of Object.keys(people)) {
        const [byDefault, ifOn, ifOff] = [usual, on, off].map((one) => one[row]![name]!.code);
        const flags = due.get(`${row} ${name}`) ?? [];
        const found =
          ifOn === ifOff ? byDefault! : `${byDefault}; on ${ifOn}, off ${ifOff}: ${flags.join(', ')}`;
        who[found] = [...(who[found] ?? []), name];
      }
      matrix[row] = who;
    }
    await inForce({}, othersReached);
    if (process.env['ACCESS_MATRIX'] === 'write') writeFileSync(file, `${JSON.stringify(matrix, null, 2)}\n`);
  });
  after(() => world?.close());

  /** The flags that make a difference, by row and person. What the file says is tried first: that takes two calls of twelve. */
  async function flagsBehind(
    pairs: readonly (readonly [row: string, who: string])[],
    on: Outcomes,
  ): Promise<Map<string, string[]>> {
    const due = new Map<string, string[]>();
    const changed = async (row: string, who: string): Promise<boolean> =>
      (await call(row, world.places.own, who, 'grpc')).code !== on[row]![who]!.code;
    const tryEach = async (flagsOf: (row: string, who: string) => readonly SecurityFlag[], of = pairs) => {
      for (const flag of securityFlags) {
        await inForce(without(flag), async () => {
          for (const [row, who] of of) {
            const name = `${row} ${who}`;
            if (flagsOf(row, who).includes(flag) && (await changed(row, who)))
              due.set(name, [...(due.get(name) ?? []), flag]);
          }
        });
      }
    };
    const written = readMatrix();
    const flagsInFile = (row: string, who: string): readonly SecurityFlag[] => {
      const outcome = Object.keys(written[row] ?? {}).find((key) => written[row]![key]!.includes(who)) ?? '';
      const names = outcome.split('; ')[1]?.split(': ')[1]?.split(', ') ?? [];
      return securityFlags.filter((flag) => names.includes(flag));
    };
    await tryEach(flagsInFile);
    const others = new Map<string, (readonly [string, string])[]>();
    for (const pair of pairs) {
      const key = flagsInFile(...pair).join();
      others.set(key, [...(others.get(key) ?? []), pair]);
    }
    const wrong: (readonly [string, string])[] = [];
    for (const [key, of] of others) {
      const rest = securityFlags.filter((flag) => !key.split(',').includes(flag));
      await inForce(without(...rest), async () => {
        for (const pair of of) if (await changed(...pair)) wrong.push(pair);
      });
    }
    for (const [row, who] of wrong) due.delete(`${row} ${who}`);
    await tryEach(() => securityFlags, wrong);
    return due;
  }

  /**
   * Runs `work` with these settings in the organisation. They are committed, since callers of a moment ago are remembered; what
   * `work` does is not.
   */
  async function inForce(securitySettings: Flags, work: () => Promise<void>): Promise<void> {
    await world.store.organisations.update(world.organisation, { securitySettings });
    await world.undone(work);
  }

  async function call(row: string, at: Place, who: string, protocol: 'grpc' | 'rest'): Promise<Outcome> {
    const method = methodOf(row);
    const request: Message = requests[row]!(at);
    const sent = protocol === 'grpc' ? { ...empty(method.request), ...request } : request;
    const work = (): Promise<Outcome> => world.protocols[protocol](method, sent, people[who]!);
    return method.access.audited ? world.undone(work) : work();
  }

  function agree(row: string, who: string, grpc: Outcome, rest: Outcome): void {
    if (grpc.code !== rest.code || grpc.status !== rest.status)
      disagreements.push(
        `${row} by ${who}: gRPC ${grpc.code} ${grpc.message}; REST ${rest.code} ${rest.message}`,
      );
  }

  async function outcomesIn(security: Flags, over: 'grpc' | 'rest'): Promise<Outcomes> {
    const found: Record<string, Record<string, Outcome>> = {};
    await inForce(security, async () => {
      for (const row of rows) {
        found[row] = {};
        for (const who of Object.keys(people)) found[row][who] = await call(row, world.places.own, who, over);
      }
    });
    return found;
  }

  /** What people reach of another workspace and of another organisation. */
  async function othersReached(): Promise<void> {
    const { own, sibling, foreign } = world.places;
    for (const row of rows) {
      // A filter: rows of workspaces that are gone are found as well. And keys ask about their own workspace.
      if (row.startsWith('AuditLogs.') || row.startsWith('Analytics.')) continue;
      const text = (at: Place): string => JSON.stringify(requests[row]!(at));
      if (text(own) === text(sibling) || text(own) === text(foreign)) continue;
      for (const who of Object.keys(world.sessions)) {
        if ((await call(row, foreign, who, 'grpc')).code === 'ok') reached.push(`${row} by ${who}: foreign`);
        if (!who.startsWith('session member/')) continue;
        if ((await call(row, sibling, who, 'grpc')).code === 'ok') reached.push(`${row} by ${who}: sibling`);
      }
    }
  }

  it('has a row for every method', () => {
    const named = new Set(rows.map((row) => methodOf(row).name));
    const wanted = [...adminTree().methods.values()].filter((method) => !isPublic(method));
    expect([...named]).to.have.members(wanted.map(({ name }) => name));
  });

  it('is as it was written down', () => {
    const expected = readMatrix();
    for (const row of rows) expect({ [row]: matrix[row] }).to.deep.equal({ [row]: expected[row] });
    expect(Object.keys(expected)).to.have.members(Object.keys(matrix));
  });

  it('is the same over gRPC and REST', () => expect(disagreements).to.deep.equal([]));

  it('keeps people in their workspaces and in their organisation', () => expect(reached).to.deep.equal([]));

  it('hides nothing from owners by security settings', () => {
    for (const [row, outcomes] of Object.entries(matrix)) {
      // A key of another person: their settings limit it.
      if (row === 'ApiKeys.CreateApiKey of a user') continue;
      const found = Object.entries(outcomes).find(([, who]) => who.includes('session owner'))?.[0];
      expect(found, row).to.not.include('off');
    }
  });
});
