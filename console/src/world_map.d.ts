// The map of the world, as the build makes it (build/world_map.ts).
declare module 'virtual:world-map' {
  /** Path of all land. */
  export const land: string;
  export const width: number;
  export const height: number;
  /** The scale of the projection, Natural Earth, and where its centre is drawn. */
  export const scale: number;
  export const center: [number, number];
}
