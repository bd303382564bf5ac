// The list of components (CycloneDX) of what is locked, as npm makes it: the same bytes for the
// same commit.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';

interface Component {
  name: string;
  purl: string;
  properties?: Array<{ name: string; value: string }>;
  [other: string]: unknown;
}

interface Bom {
  serialNumber: string;
  metadata: { timestamp: string; component: Component; [other: string]: unknown };
  components: Component[];
  [other: string]: unknown;
}

/** The marks of npm for a package that is not loaded from node_modules at run time. */
const development = 'cdx:npm:package:development';
/** In the packages all the same: its file is copied into the server's (scripts/vendor.mjs). */
const copied = '@scalar/fastify-api-reference';

/**
 * Everything in package-lock.json of the project in the folder. The tools that only made the
 * packages are in it, too, marked as `cdx:npm:package:development`; of the Nodes each Debian
 * package has the one of its architecture.
 */
export function componentsOf(root: string, epoch: number): Bom {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const output = execFileSync('npm', args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const bom = JSON.parse(output) as Bom;
  // npm calls the project, and its workspaces, as their folders are called.
  bom.metadata.component.name = 'exitward';
  for (const component of bom.components) {
    const [, scope] = /^pkg:npm\/%40exitward\/([\w-]+)@/.exec(component.purl) ?? [];
    if (scope) component.name = `@exitward/${scope}`;
    if (component.name !== copied) continue;
    component.properties = component.properties?.filter(({ name }) => name !== development) ?? [];
  }
  // npm draws a number and reads the clock.
  bom.metadata.timestamp = new Date(epoch * 1000).toISOString();
  bom.serialNumber = '';
  bom.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bom))}`;
  return bom;
}

/** A UUID (RFC 9562, version 8) that the text decides. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
