import { expect } from 'chai';
import { isScope, mayHold, scopesOf } from '../../src/common/access/scopes.js';

const crud = 'create read update delete list';

/**
 * The table of scopes, row by row: the resource, its actions, and those of them that an organisation's key, a workspace's
 * service key and a workspace's user key may hold. `all`: every one; `-`: none.
 */
const rows: readonly (readonly [string, string, string, string, string])[] = [
  ['organisation_users', crud, 'all', '-', '-'],
  ['organisation_service_api_keys', `${crud} rotate`, 'all', '-', '-'],
  ['audit_logs', 'list', 'all', '-', '-'],
  ['plugins', 'create update list', 'all', '-', '-'],
  ['secret_references', crud, 'all', '-', '-'],
  ['deployments', crud, 'all', '-', '-'],
  ['organisation_integrations', crud, 'all', 'list', 'list'],
  ['organisation_mcp_integrations', crud, 'all', 'list', 'list'],
  ['organisation_agent_integrations', crud, 'all', 'list', 'list'],
  ['workspaces', crud, 'all', 'create read update list', 'create read update list'],
  ['workspace_service_api_keys', `${crud} rotate`, 'all', 'all', '-'],
  ['workspace_user_api_keys', `${crud} rotate`, 'all', 'all', '-'],
  ['workspace_users', crud, 'all', 'all', 'all'],
  ['prompts', `${crud} publish`, 'all', 'all', 'all'],
  ['prompts', 'render', '-', 'all', 'all'],
  ['configs', crud, 'all', 'all', 'all'],
  ['guardrails', crud, 'all', 'all', 'all'],
  ['guardrails', 'invoke', '-', 'all', 'all'],
  ['virtual_keys', `${crud} duplicate copy`, 'all', 'all', 'all'],
  ['providers', `${crud} duplicate`, 'all', 'all', 'all'],
  ['policies', crud, 'all', 'all', 'all'],
  ['workspace_integrations', crud, 'all', 'all', 'all'],
  ['workspace_mcp_integrations', crud, 'all', 'all', 'all'],
  ['workspace_agent_integrations', crud, 'all', 'all', 'all'],
  ['mcp_servers', crud, 'all', 'all', 'all'],
  ['mcp', 'invoke', '-', 'all', 'all'],
  ['agent_servers', crud, 'all', 'all', 'all'],
  ['agents', 'invoke', '-', 'all', 'all'],
  ['analytics', 'view', 'all', 'all', 'all'],
  ['logs', 'export list view', 'all', 'all', 'all'],
  ['logs', 'write', '-', 'all', 'all'],
  ['completions', 'write', '-', 'all', 'all'],
  ['logs', 'read', '-', 'all', 'all'],
  ['completions', 'read', '-', 'all', 'all'],
  ['feedbacks', 'read write', '-', 'all', 'all'],
];

const types = ['organisation-service', 'workspace-service', 'workspace-user'] as const;

describe('scopes', () => {
  for (const [resource, actions, ...held] of rows) {
    it(`${resource}.{${actions.replaceAll(' ', ',')}} belong to the keys that the specification gives them to`, () => {
      for (const action of actions.split(' ')) {
        expect(isScope(`${resource}.${action}`), action).to.equal(true);
        const holders = types.filter(
          (_, i) => held[i] === 'all' || held[i]?.split(' ').includes(action) === true,
        );
        expect(
          types.filter((type) => mayHold(type, `${resource}.${action}`)),
          action,
        ).to.deep.equal(holders);
      }
    });
  }

  it('are those of the specification and no others', () => {
    const known = new Set(
      rows.flatMap(([resource, actions]) => actions.split(' ').map((a) => `${resource}.${a}`)),
    );
    expect(new Set(types.flatMap(scopesOf))).to.deep.equal(known);
    for (const strange of [
      '',
      'configs',
      'configs.',
      'configs.rotate',
      'labels.create',
      '__proto__',
      'toString',
    ]) {
      expect(isScope(strange), strange).to.equal(false);
      expect(mayHold('organisation-service', strange), strange).to.equal(false);
    }
  });

  it('of the data plane are beyond an organisation’s key', () => {
    expect(mayHold('organisation-service', 'completions.write')).to.equal(false);
    expect(scopesOf('organisation-service')).to.not.include('prompts.render');
  });
});
