/** What members and managers may see and change, by the names of the proto file; the defaults. */
const defaults = {
  members_view_logs: true,
  managers_view_logs: true,
  organisation_admins_view_logs: true,
  members_view_log_metadata: true,
  managers_view_log_metadata: true,
  organisation_admins_view_log_metadata: true,
  members_view_all_data: true,
  managers_view_all_data: true,
  members_view_analytics: true,
  managers_view_analytics: true,
  members_view_api_keys: true,
  managers_view_api_keys: true,
  members_write_api_keys: false,
  managers_write_api_keys: true,
  members_view_configs: true,
  managers_view_configs: true,
  members_write_configs: false,
  managers_write_configs: true,
  members_view_prompts: true,
  managers_view_prompts: true,
  members_write_prompts: false,
  managers_write_prompts: true,
  members_view_guardrails: true,
  managers_view_guardrails: true,
  members_write_guardrails: false,
  managers_write_guardrails: true,
  members_view_virtual_keys: true,
  managers_view_virtual_keys: true,
  members_write_virtual_keys: false,
  managers_write_virtual_keys: true,
  managers_update_ws: true,
  managers_write_ws_users: true,
  managers_write_ws_integrations: true,
  managers_write_ws_mcp_integrations: true,
  managers_write_mcp_servers: true,
};

export type SecurityFlag = keyof typeof defaults;
export type SecuritySettings = Readonly<Record<SecurityFlag, boolean>>;
/** The flags that are set; null means absent. */
export type SetFlags = { readonly [Flag in SecurityFlag]?: boolean | null };

export const securityFlags = Object.keys(defaults) as readonly SecurityFlag[];

/** The effective flags: the last layer that sets a flag wins (organisation, then workspace). */
export function flagsInForce(...layers: readonly SetFlags[]): SecuritySettings {
  const inForce = { ...defaults };
  for (const layer of layers) {
    for (const flag of securityFlags) inForce[flag] = layer[flag] ?? inForce[flag];
  }
  return inForce;
}
