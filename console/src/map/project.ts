// The position of a place on the map: Natural Earth, like the land (build/world_map.ts).

/** The scale of the drawing in pixels per radian, and the position of latitude 0, longitude 0. */
export interface Drawing {
  scale: number;
  center: readonly [number, number];
}

const radians = Math.PI / 180;

/** Degrees -> x and y on the drawing. */
export function project(
  longitude: number,
  latitude: number,
  { scale, center }: Drawing,
): [number, number] {
  const turn = longitude * radians;
  const phi = latitude * radians;
  const phi2 = phi * phi;
  const phi4 = phi2 * phi2;
  const x =
    turn *
    (0.8707 - 0.131979 * phi2 + phi4 * (-0.013791 + phi4 * (0.003971 * phi2 - 0.001529 * phi4)));
  const y =
    phi * (1.007226 + phi2 * (0.015085 + phi4 * (-0.044475 + 0.028874 * phi2 - 0.005916 * phi4)));
  return [center[0] + scale * x, center[1] - scale * y];
}
