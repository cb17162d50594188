// training_loop DATA_FOLDER [EPOCHS]: the forward part of training on the digits; what is compiled when, and the time per step.

#include <cstdlib>
#include <iostream>

#include "../demo/data.h"
#include "training.h"

int main(int argc, char** argv) try {
  const demo::Digits digits = demo::load_digits((argc > 1 ? argv[1] : std::string("examples/data")) + "/digits.csv");
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 8;
  const std::vector<scenario::Row> rows = training::compare(digits.images, digits.labels, epochs);
  scenario::print(rows);
  return rows[1].remark.empty() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "training_loop: " << error.what() << "\n";
  return 2;
}
