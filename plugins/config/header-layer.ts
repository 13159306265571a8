import type { Secret } from '../../src/common/access/secret.js';
import { retainedBytes } from '../../src/common/bytes/retained-bytes.js';
import type { Mirror, ResolvedConfig, RouteNode, Target, TargetLayer } from '../../src/common/core/target.js';
import { defaultConfig, defaultTarget, fingerprintOf } from '../../src/common/vocabulary/default-config.js';
import { addressFields, type FieldValues } from '../../src/common/vocabulary/provider-fields.js';
import type { HeaderTarget } from './header-target.js';

/** Heap bytes of a target with the additions of headers, and of the objects derived from it. */
const targetBytes = 1280;
/** A field, copied into the fields of a target. */
const fieldBytes = 64;
const layerBytes = 1280;

/** The config of a call without one: a single target, made from headers alone. */
export function headerConfig(header: HeaderTarget, key: string): ResolvedConfig {
  const target: Target = Object.freeze({ ...defaultTarget, ...header });
  return Object.freeze({
    ...defaultConfig,
    fingerprint: fingerprintOf(key),
    root: Object.freeze({ kind: 'target', path: target.path, target }),
    bytes: layerBytes + targetBytes + retainedBytes(target),
  });
}

/** A config whose targets take unset values from headers. It refers to the config's own tree. */
export function layeredConfig(config: ResolvedConfig, header: HeaderTarget, key: string): ResolvedConfig {
  return Object.freeze({
    ...config,
    fingerprint: fingerprintOf(`${config.fingerprint}\n${key}`),
    layer: new HeaderLayer(header),
    bytes: config.bytes + layerBytes + retainedBytes(header) + layeredBytes(config.root, header),
  });
}

/** Bytes of the layer once each of its targets was used. */
function layeredBytes(node: RouteNode, header: HeaderTarget): number {
  if (node.kind !== 'target') {
    return node.children.reduce((sum, child) => sum + layeredBytes(child, header), 0);
  }
  const { target } = node;
  const targets = target.mirror === null ? [target] : [target, target.mirror.target];
  return targets.reduce((sum, { fields }) => {
    const count = Object.keys(fields).length + Object.keys(header.fields).length;
    return sum + targetBytes + fieldBytes * count;
  }, 0);
}

/** Header values over the targets of one config. Each target is made at its first use. */
class HeaderLayer implements TargetLayer {
  readonly #header: HeaderTarget;
  readonly #made = new Map<Target, Target>();

  constructor(header: HeaderTarget) {
    this.#header = header;
  }

  over(target: Target): Target {
    let made = this.#made.get(target);
    if (made === undefined) {
      made = layeredTarget(target, this.#header);
      this.#made.set(target, made);
    }
    return made;
  }
}

function layeredTarget(target: Target, header: HeaderTarget): Target {
  // A config's key is sent only to the provider named with it in the config.
  const open = target.provider === null && target.virtualKey === null && target.apiKey === null;
  // A caller may choose the host only if the credential is the caller's too: a credential of a config or a workspace is
  // never sent to an address from a header.
  const ownsCredential =
    target.apiKey === null && target.virtualKey === null && target.provider?.startsWith('@') !== true;
  return Object.freeze({
    ...target,
    base: target,
    provider: open ? header.provider : target.provider,
    virtualKey: open ? header.virtualKey : target.virtualKey,
    customHost: target.customHost ?? (ownsCredential ? header.customHost : null),
    forwardHeaders: target.forwardHeaders.length > 0 ? target.forwardHeaders : header.forwardHeaders,
    requestTimeoutMs: target.requestTimeoutMs ?? header.requestTimeoutMs,
    retry: target.retry ?? header.retry,
    mirror: target.mirror === null ? null : layeredMirror(target.mirror, header),
    strictOpenAiCompliance: target.strictOpenAiCompliance && header.strictOpenAiCompliance,
    fields: Object.freeze(
      Object.assign(
        Object.create(null) as Record<string, string | Secret>,
        ownsCredential ? header.fields : withoutAddress(header.fields),
        target.fields,
      ),
    ),
  });
}

/** A mirrored copy is not retried. */
function layeredMirror(mirror: Mirror, header: HeaderTarget): Mirror {
  return Object.freeze({ ...mirror, target: layeredTarget(mirror.target, { ...header, retry: null }) });
}

function withoutAddress(fields: FieldValues): FieldValues {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !addressFields.has(name)));
}
