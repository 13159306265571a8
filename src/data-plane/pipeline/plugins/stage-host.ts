import { type ErrorCode, type ErrorDetail, GatewayError, isErrorCode } from '../../../common/core/errors.js';
import type { Exchange } from '../../../common/core/exchange.js';
import type { Shared } from '../../../common/ipc/shared.js';
import {
  type Capabilities,
  type CapabilityName,
  capabilityHolders,
  type FullHost,
  type Host,
} from '../../../common/plugin-host/host.js';
import { fitsField, type LedgerValue } from '../../../common/plugin-host/ledger-fields.js';
import type { Metrics } from '../../../common/plugin-host/metrics.js';
import type { StageDeclaration } from '../../../common/plugin-host/plugin.js';
import { nearest } from '../../../common/text/nearest.js';
import { PluginSink } from './live/plugin-sink.js';
import { stateOf } from './stage-state.js';

/** The parts that the hosts of all stages share. */
export interface HostParts extends Pick<Host, 'log' | 'headerPrefixes' | 'directory' | 'random'> {
  readonly metrics: Pick<Metrics, 'show'> & Partial<Pick<Metrics, 'hide'>>;
  readonly shared: Shared;
  /** Gets the sinks that are made, to close them with the stage. */
  readonly sinks?: Pick<PluginSink<never>, 'close'>[];
  /** Absent: the stage has no jobs. */
  readonly runJob?: Host['runJob'];
  readonly capabilities: Capabilities;
}

/**
 * The host of one stage: the public part, and the members of the capabilities that it requests. Throws if it may not
 * have one. `isOwn`: it is one of the gateway's own stages.
 */
export function stageHost(stage: StageDeclaration, parts: HostParts, isOwn: boolean): FullHost {
  const { log, headerPrefixes, directory, metrics, random, shared, capabilities } = parts;
  const host: Host = {
    log,
    error: (code, message, detail) => errorOf(stage.name, code, message, detail),
    headerPrefixes,
    directory,
    metrics: { show: (source) => metrics.show(source) },
    state: stateOf(stage, shared),
    record: (x, field, value) => record(stage, x, field, value),
    setReplyHeader: (x, name, value) => setReplyHeader(stage, headerPrefixes[0]!, x, name, value),
    sink: (options) => {
      const sink = new PluginSink(stage.name, options, log);
      metrics.show(() => sink.metrics());
      parts.sinks?.push(sink);
      return sink;
    },
    random,
    runJob: parts.runJob ?? ((job) => Promise.reject(new Error(`${stage.name} has no job ${job}.`))),
  };
  for (const name of stage.needs ?? []) {
    checkNeed(stage.name, name, isOwn);
    Object.assign(host, capabilities[name]);
  }
  return host as FullHost;
}

function checkNeed(stage: string, name: CapabilityName, isOwn: boolean): void {
  if (!Object.hasOwn(capabilityHolders, name)) {
    const meant = nearest(String(name), Object.keys(capabilityHolders));
    const rest = meant === null ? '' : `; did you mean ${meant}?`;
    throw new Error(`plugin ${stage}: needs names ${String(name)}, which is no capability${rest}`);
  }
  if (!isOwn && capabilityHolders[name] !== 'plugins')
    throw new Error(`plugin ${stage}: the capability ${name} is for the gateway's own stages alone.`);
}

function errorOf(stage: string, code: string, message: string, detail?: ErrorDetail): GatewayError {
  if (!isErrorCode(code)) throw new TypeError(`errors of ${stage} does not declare ${String(code)}.`);
  return new GatewayError(code as ErrorCode, message, detail);
}

function record(stage: StageDeclaration, x: Exchange, field: string, value: LedgerValue): void {
  const declared = stage.ledgerFields?.[field];
  if (declared === undefined) throw new TypeError(`ledgerFields of ${stage.name} does not declare ${field}.`);
  if (!fitsField(declared, value))
    throw new TypeError(`The ledger field ${field} of ${stage.name} must be of the type ${declared.type}.`);
  x.fields ??= {};
  x.fields[stage.name] ??= {};
  x.fields[stage.name]![field] = value;
}

const maxHeaderLength = 1024;

function setReplyHeader(
  stage: StageDeclaration,
  prefix: string,
  x: Exchange,
  name: string,
  value: string,
): void {
  if (!Object.hasOwn(stage.replyHeaders ?? {}, name))
    throw new TypeError(`replyHeaders of ${stage.name} does not declare ${name}.`);
  if (value.length > maxHeaderLength || !/^[\x20-\x7e]*$/.test(value))
    throw new TypeError(
      `The reply header ${name} of ${stage.name} must be printable ASCII, at most ${maxHeaderLength} characters.`,
    );
  const headers = [...(x.replyHeaders ?? [])];
  const whole = prefix + name;
  const at = headers.findIndex((text, i) => i % 2 === 0 && text === whole);
  if (at < 0) headers.push(whole, value);
  else headers[at + 1] = value;
  x.replyHeaders = headers;
}

/** Explains errors of a custom plugin that uses a capability without requesting it. */
export function explainMissing(plugin: string, host: FullHost, capabilities: Capabilities): FullHost {
  for (const [name, members] of Object.entries(capabilities)) {
    for (const member of Object.keys(members)) {
      if (member in host) continue;
      Object.defineProperty(host, member, {
        get() {
          throw new Error(
            capabilityHolders[name as CapabilityName] === 'plugins'
              ? `plugin ${plugin}: host.${member} is part of the capability ${name}: add needs: ['${name}'] to the plugin.`
              : `plugin ${plugin}: host.${member} is for the gateway's own stages alone.`,
          );
        },
      });
    }
  }
  return host;
}
