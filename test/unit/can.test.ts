import { expect } from 'chai';
import { scopesOf } from '../../src/common/access/scopes.js';
import { flagsInForce, type SecurityFlag, securityFlags } from '../../src/common/access/security-settings.js';
import {
  leaves,
  type Standing,
  seesAllData,
  seesLogMetadata,
} from '../../src/control-plane/administration/access/can.js';

const userScopes = scopesOf('workspace-user');
const personal = [...new Set([...scopesOf('workspace-service'), ...userScopes])];

function standing(
  organisation: Standing['organisation'],
  workspace: Standing['workspace'],
  flags: Partial<Record<SecurityFlag, boolean>> = {},
): Standing {
  return { organisation, workspace, security: flagsInForce(flags) };
}
const leftTo = (who: Standing): string[] => personal.filter((scope) => leaves(who, scope));
const every = (value: boolean) => Object.fromEntries(securityFlags.map((flag) => [flag, value]));

/** Scopes of one role that come and go with a flag. */
const governed: Readonly<Partial<Record<SecurityFlag, readonly string[]>>> = {
  members_view_logs: ['logs.list', 'logs.view', 'logs.export'],
  managers_view_logs: ['logs.list', 'logs.view', 'logs.export'],
  members_view_analytics: ['analytics.view'],
  managers_view_analytics: ['analytics.view'],
  members_view_api_keys: ['workspace_service_api_keys.list', 'workspace_user_api_keys.read'],
  managers_view_api_keys: ['workspace_service_api_keys.list', 'workspace_user_api_keys.read'],
  members_write_api_keys: ['workspace_user_api_keys.create', 'workspace_service_api_keys.rotate'],
  managers_write_api_keys: ['workspace_user_api_keys.create', 'workspace_service_api_keys.rotate'],
  members_view_configs: ['configs.list', 'configs.read'],
  managers_view_configs: ['configs.list', 'configs.read'],
  members_write_configs: ['configs.create', 'configs.update', 'configs.delete'],
  managers_write_configs: ['configs.create', 'configs.update', 'configs.delete'],
  members_view_prompts: ['prompts.list', 'prompts.read'],
  managers_view_prompts: ['prompts.list', 'prompts.read'],
  members_write_prompts: ['prompts.create', 'prompts.publish'],
  managers_write_prompts: ['prompts.create', 'prompts.publish'],
  members_view_guardrails: ['guardrails.list', 'guardrails.read'],
  managers_view_guardrails: ['guardrails.list', 'guardrails.read'],
  members_write_guardrails: ['guardrails.create', 'guardrails.delete'],
  managers_write_guardrails: ['guardrails.create', 'guardrails.delete'],
  members_view_virtual_keys: ['virtual_keys.list', 'providers.read'],
  managers_view_virtual_keys: ['virtual_keys.list', 'providers.read'],
  members_write_virtual_keys: ['virtual_keys.create', 'virtual_keys.copy', 'providers.delete'],
  managers_write_virtual_keys: ['virtual_keys.create', 'virtual_keys.copy', 'providers.delete'],
  managers_update_ws: ['workspaces.update'],
  managers_write_ws_users: ['workspace_users.create', 'workspace_users.delete'],
  managers_write_ws_integrations: ['workspace_integrations.create'],
  managers_write_ws_mcp_integrations: ['workspace_mcp_integrations.update'],
  managers_write_mcp_servers: ['mcp_servers.delete'],
};

describe('what roles leave of scopes', () => {
  it('is all of them to owners, and to admins of the organisation or the workspace', () => {
    for (const who of [
      standing('owner', 'admin', every(false)),
      standing('admin', 'admin'),
      standing('member', 'admin', every(false)),
    ])
      expect(leftTo(who)).to.deep.equal(personal);
  });

  it('is nothing to one who is not in the workspace', () => {
    expect(leftTo(standing('member', null, every(true)))).to.deep.equal([]);
  });

  it('is calls of models to every member, whatever is switched off', () => {
    const using = ['completions.write', 'logs.write', 'guardrails.invoke', 'mcp.invoke', 'prompts.render'];
    for (const role of ['member', 'manager'] as const)
      expect(leftTo(standing('member', role, every(false)))).to.include.members(using);
  });

  it('is never more to a member than to a manager', () => {
    for (const flags of [{}, every(true), every(false)])
      expect(leftTo(standing('member', 'manager', flags))).to.include.members(
        leftTo(standing('member', 'member', flags)),
      );
  });

  it('is no change of policies, servers, members and integrations to a member, with every flag set', () => {
    const changes =
      /^(policies|mcp_servers|agent_servers|workspace_users|workspaces|workspace_\w*integrations)\.(create|update|delete)$/;
    const left = leftTo(standing('member', 'member', every(true)));
    expect(left.filter((scope) => changes.test(scope))).to.deep.equal([]);
  });

  it('is decided for every scope that a key of a workspace may hold', () => {
    // With every flag set a manager lacks what is the organisation's, and no more.
    const lacking = personal.filter((scope) => !leaves(standing('member', 'manager', every(true)), scope));
    expect(lacking).to.deep.equal([]);
  });

  for (const [flag, scopes] of Object.entries(governed)) {
    it(`follows ${flag}`, () => {
      const role = flag.startsWith('members_') ? 'member' : 'manager';
      for (const scope of scopes) {
        const others = every(true);
        expect(leaves(standing('member', role, { ...others, [flag]: true }), scope), scope).to.equal(true);
        expect(leaves(standing('member', role, { ...others, [flag]: false }), scope), scope).to.equal(false);
      }
    });
  }

  it('follows organisation_admins_view_logs for admins, not for owners', () => {
    const flags = { organisation_admins_view_logs: false };
    expect(leaves(standing('admin', 'admin', flags), 'logs.view')).to.equal(false);
    expect(leaves(standing('owner', 'admin', flags), 'logs.view')).to.equal(true);
    expect(leaves(standing('admin', 'admin', flags), 'configs.list')).to.equal(true);
  });

  it('follows the flags of sight', () => {
    for (const role of ['member', 'manager'] as const) {
      expect(seesAllData(standing('member', role, { [`${role}s_view_all_data`]: false }))).to.equal(false);
      expect(seesAllData(standing('member', role))).to.equal(true);
      expect(seesLogMetadata(standing('member', role, { [`${role}s_view_log_metadata`]: false }))).to.equal(
        false,
      );
      expect(seesLogMetadata(standing('member', role))).to.equal(true);
    }
    const admins = { organisation_admins_view_log_metadata: false };
    expect(seesLogMetadata(standing('admin', 'admin', admins))).to.equal(false);
    expect(seesLogMetadata(standing('owner', 'admin', admins))).to.equal(true);
    expect(seesAllData(standing('admin', 'admin', every(false)))).to.equal(true);
  });

  it('follows every flag that there is', () => {
    const tested = [
      ...Object.keys(governed),
      'organisation_admins_view_logs',
      'organisation_admins_view_log_metadata',
      'members_view_log_metadata',
      'managers_view_log_metadata',
      'members_view_all_data',
      'managers_view_all_data',
    ];
    expect(tested).to.have.members(securityFlags);
  });
});
