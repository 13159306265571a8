import { expect } from 'chai';
import {
  hashGatewayKey,
  isGatewayKey,
  makeGatewayKey,
  maskGatewayKey,
} from '../../src/common/access/gateway-key.js';
import type { KeyType } from '../../src/common/access/principal.js';
import { isScope, mayHold, scopesOf } from '../../src/common/access/scopes.js';

const prefixes: Record<KeyType, string> = {
  'organisation-service': 'gw_org_',
  'workspace-service': 'gw_ws_',
  'workspace-user': 'gw_user_',
};
const types = Object.keys(prefixes) as KeyType[];

describe('gateway keys', () => {
  it('show by their prefix what they are and pass their own check', () => {
    for (const type of types) {
      for (let i = 0; i < 200; i++) {
        const key = makeGatewayKey(type);
        expect(key).to.match(new RegExp(`^${prefixes[type]}[0-9A-Za-z]{49}$`));
        expect(isGatewayKey(key), key).to.equal(true);
      }
    }
  });

  it('do not repeat', () => {
    expect(new Set(Array.from({ length: 500 }, () => makeGatewayKey('workspace-user'))).size).to.equal(500);
  });

  it('are refused after any change of one character', () => {
    const key = makeGatewayKey('workspace-service');
    for (let i = 0; i < key.length; i++) {
      for (const other of ['0', 'z', '-', '\u0130', '\0']) {
        if (key[i] === other) continue;
        expect(isGatewayKey(key.slice(0, i) + other + key.slice(i + 1)), `${i} ${other}`).to.equal(false);
      }
    }
  });

  it('are refused cut, lengthened, padded or under another prefix', () => {
    const key = makeGatewayKey('organisation-service');
    const bad = [
      '',
      'gw_',
      'gw_org_',
      key.slice(0, -1),
      `${key}0`,
      ` ${key}`,
      `${key}\n`,
      key.replace('gw_org_', 'gw_ws_'),
      key.replace('gw_org_', 'gw_user_'),
      key.toLowerCase(),
      'x'.repeat(10_000_000),
    ];
    for (const text of bad) expect(isGatewayKey(text), text.slice(0, 80)).to.equal(false);
  });

  it('hash under the pepper: the same twice, another under another pepper', () => {
    const pepper = Buffer.alloc(32, 1);
    const key = makeGatewayKey('workspace-service');
    const hash = hashGatewayKey(pepper, key);
    expect(hash).to.match(/^[0-9a-f]{64}$/);
    expect(hashGatewayKey(pepper, key)).to.equal(hash);
    expect(hashGatewayKey(Buffer.alloc(32, 2), key)).to.not.equal(hash);
    // RFC 4231, test case 2.
    expect(hashGatewayKey(Buffer.from('Jefe'), 'what do ya want for nothing?')).to.equal(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  it('are masked to 2 first and 3 last characters, and not at all shown when short', () => {
    expect(maskGatewayKey('gw_ws_abcdefghXYZ')).to.equal('gw*****XYZ');
    expect(maskGatewayKey('short')).to.equal('*****');
  });
});

describe('scopes', () => {
  it('keep model calls from admin keys and administration of the organisation from workspace keys', () => {
    expect(mayHold('organisation-service', 'completions.write')).to.equal(false);
    expect(mayHold('workspace-service', 'completions.write')).to.equal(true);
    expect(mayHold('workspace-service', 'organisation_service_api_keys.create')).to.equal(false);
    expect(mayHold('workspace-user', 'workspace_service_api_keys.create')).to.equal(false);
    expect(mayHold('workspace-service', 'workspaces.delete')).to.equal(false);
    expect(mayHold('workspace-user', 'toString')).to.equal(false);
    expect(isScope('configs.create')).to.equal(true);
    expect(isScope('configs.destroy')).to.equal(false);
  });

  it('are all known to exist and listed once a type', () => {
    for (const type of types) {
      const scopes = scopesOf(type);
      expect(new Set(scopes).size).to.equal(scopes.length);
      for (const scope of scopes) expect(isScope(scope) && mayHold(type, scope), scope).to.equal(true);
    }
  });
});
