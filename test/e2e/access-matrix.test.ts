// lane: slow
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Message } from '../../proto/codec.js';
import { type AdminMethod, adminMethod, adminTree } from '../../proto/tree.js';
import { empty } from '../../src/control-plane/administration/shape/json.js';
import { type Place, requests } from '../support/access-requests.js';
import { makeWorld, type Outcome, type World } from '../support/access-world.js';
import { isWhole } from '../support/long-forms.js';
import { root } from '../support/root.js';

/**
 * Who may do what to whose things: every method, by every kind of caller, over gRPC and REST. access-matrix.json says what must come
 * of it: for each row, outcomes on a thing of the caller's own, of a sibling workspace and of a foreign organisation,
 * and who gets them. `ACCESS_MATRIX=write` writes it anew, to be read before it is kept.
 */

type Matrix = Record<string, Record<string, readonly string[]>>;
type Protocol = keyof World['protocols'];

const file = join(root, 'test/e2e/access-matrix.json');
const methodOf = (row: string): AdminMethod => adminMethod(row.split(' ')[0]!);

const isPublic = ({ access }: AdminMethod): boolean => access.scopes.length === 0;
const strangers = ['nobody', 'unknown', 'expired', 'archived'];

describe('the matrix of access', () => {
  let world: World;
  const matrix: Matrix = {};
  const disagreements: string[] = [];
  const tellingApart: string[] = [];
  let turn = 0;

  before(async function () {
    this.timeout(120_000);
    world = await makeWorld();
    await world.undone(async () => {
      for (const row of Object.keys(requests)) matrix[row] = await outcomesOf(row);
    });
    if (process.env['ACCESS_MATRIX'] === 'write') writeFileSync(file, `${JSON.stringify(matrix, null, 2)}\n`);
  });
  after(() => world?.close());

  /** The request as it is in memory before it is sent over gRPC or REST: what is absent says nothing. */
  const requestOf = (row: string, at: Place): Message => requests[row]!(at);

  async function call(row: string, at: Place, actor: string, protocol: Protocol): Promise<Outcome> {
    const method = methodOf(row);
    const request = requestOf(row, at);
    const sent = protocol === 'grpc' ? { ...empty(method.request), ...request } : request;
    const work = (): Promise<Outcome> => world.protocols[protocol](method, sent, world.actors[actor] ?? null);
    const comesIn = isPublic(method) || !strangers.includes(actor);
    return method.access.audited && comesIn ? world.undone(work) : work();
  }

  /** Over both, which must agree. */
  async function callOverBoth(row: string, at: Place, actor: string): Promise<Outcome> {
    const [grpc, rest] = [await call(row, at, actor, 'grpc'), await call(row, at, actor, 'rest')];
    if (grpc.code !== rest.code || grpc.status !== rest.status)
      disagreements.push(
        `${row} by ${actor}: gRPC ${grpc.code} ${grpc.message}; REST ${rest.code} ${rest.message}`,
      );
    return grpc;
  }

  async function outcomesOf(row: string): Promise<Record<string, readonly string[]>> {
    const who: Record<string, string[]> = {};
    for (const actor of Object.keys(world.actors)) {
      // Other people's records are requested by one protocol; the next actor uses the other.
      turn++;
      const [one, other] = turn % 2 === 0 ? (['grpc', 'rest'] as const) : (['rest', 'grpc'] as const);
      const { own, sibling, foreign: away, missing: none } = world.places;
      const outcomes = [
        // Each actor asks a third of the methods by both, and each method is asked by both by a third of the actors.
        isWhole || turn % 3 === 0 ? await callOverBoth(row, own, actor) : await call(row, own, actor, other),
        await call(row, sibling, actor, one),
        await call(row, away, actor, other),
      ];
      const codes = outcomes.map(({ code }) => code).join(' ');
      who[codes] = [...(who[codes] ?? []), actor];
      if ((actor !== 'admin' && actor !== 'service') || isPublic(methodOf(row))) continue;
      const missing = await call(row, none, actor, other);
      const foreign = outcomes[2]!;
      // What was asked for may be in the message.
      const text = ({ message }: typeof missing): string => message.replace(/[\da-f-]{36}/g, '…');
      if (missing.code !== foreign.code || text(missing) !== text(foreign))
        tellingApart.push(
          `${row} by ${actor}: ${foreign.code} ${foreign.message} / ${missing.code} ${missing.message}`,
        );
    }
    return who;
  }

  /** Outcomes of one actor on own, sibling and foreign things. */
  const of = (row: string, actor: string): string[] =>
    (Object.entries(matrix[row]!).find(([, who]) => who.includes(actor))?.[0] ?? '').split(' ');

  it('has a row for every method', () => {
    const rows = new Set(Object.keys(requests).map((row) => methodOf(row).name));
    expect([...rows]).to.have.members([...adminTree().methods.keys()]);
  });

  it('is as it was written down', () => {
    const expected = JSON.parse(readFileSync(file, 'utf8')) as Matrix;
    for (const row of Object.keys(requests))
      expect({ [row]: matrix[row] }).to.deep.equal({ [row]: expected[row] });
    expect(Object.keys(expected)).to.have.members(Object.keys(matrix));
  });

  it('is the same over gRPC and REST', () => expect(disagreements).to.deep.equal([]));

  it('answers the same for a foreign record and a missing one', () => expect(tellingApart).to.deep.equal([]));

  it('refuses every key that is missing, unknown, expired or of an archived workspace', () => {
    for (const row of Object.keys(requests)) {
      if (isPublic(methodOf(row))) continue;
      for (const actor of strangers)
        expect(of(row, actor), `${row} by ${actor}`).to.deep.equal(['AB05', 'AB05', 'AB05']);
    }
  });

  it('keeps every organisation to itself, and every workspace', () => {
    const { own, sibling, foreign } = world.places;
    const isAbout = (row: string, at: Place): boolean =>
      JSON.stringify(requestOf(row, own)) !== JSON.stringify(requestOf(row, at));
    const rows = Object.keys(requests).filter(
      (row) =>
        !isPublic(methodOf(row)) &&
        // A filter: rows of workspaces that are gone are found as well.
        !row.startsWith('AuditLogs.') &&
        // Keys of a workspace ask about their own, whatever workspace they name.
        !row.startsWith('Analytics.') &&
        isAbout(row, foreign) &&
        isAbout(row, sibling),
    );
    expect(rows).to.have.length.above(80);
    for (const row of rows) {
      for (const actor of Object.keys(world.actors)) {
        const [onOwn, onSibling, onForeign] = of(row, actor);
        const what = `${row} by ${actor}`;
        if (actor === 'foreign') expect([onOwn, onSibling], what).to.not.include('ok');
        else expect(onForeign, what).to.not.equal('ok');
        if (actor === 'service' || actor.startsWith('user ')) expect(onSibling, what).to.not.equal('ok');
      }
    }
  });
});
