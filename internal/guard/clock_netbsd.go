package guard

const clock = 3 // CLOCK_MONOTONIC, which package unix does not have here
