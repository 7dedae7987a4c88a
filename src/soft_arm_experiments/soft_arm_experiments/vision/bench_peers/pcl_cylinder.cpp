// PCL's cylinder fit, timed: points from standard input, figures to standard output as JSON.
// Usage: pcl_cylinder RADIUS_M THRESHOLD_M ITERATIONS < points (x y z [m], float64, native order)

#include <pcl/features/normal_3d.h>
#include <pcl/sample_consensus/method_types.h>
#include <pcl/sample_consensus/model_types.h>
#include <pcl/search/kdtree.h>
#include <pcl/segmentation/sac_segmentation.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

using Clock = std::chrono::steady_clock;

static double seconds(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "pcl_cylinder: RADIUS_M THRESHOLD_M ITERATIONS are needed\n");
    return 2;
  }
  const double radius_m = std::atof(argv[1]), threshold_m = std::atof(argv[2]);
  pcl::PointCloud<pcl::PointXYZ>::Ptr cloud(new pcl::PointCloud<pcl::PointXYZ>);
  for (double p[3]; std::fread(p, sizeof(double), 3, stdin) == 3;) cloud->push_back(pcl::PointXYZ(p[0], p[1], p[2]));

  const auto begin = Clock::now();
  pcl::PointCloud<pcl::Normal>::Ptr normals(new pcl::PointCloud<pcl::Normal>);
  pcl::NormalEstimation<pcl::PointXYZ, pcl::Normal> estimation;
  estimation.setSearchMethod(pcl::search::KdTree<pcl::PointXYZ>::Ptr(new pcl::search::KdTree<pcl::PointXYZ>));
  estimation.setInputCloud(cloud);
  estimation.setKSearch(50);
  estimation.compute(*normals);

  const auto ready = Clock::now();
  pcl::SACSegmentationFromNormals<pcl::PointXYZ, pcl::Normal> segmentation;
  segmentation.setModelType(pcl::SACMODEL_CYLINDER);
  segmentation.setMethodType(pcl::SAC_RANSAC);
  segmentation.setOptimizeCoefficients(true);
  segmentation.setNormalDistanceWeight(0.1);
  segmentation.setMaxIterations(std::atoi(argv[3]));
  segmentation.setDistanceThreshold(threshold_m);
  segmentation.setRadiusLimits(0.9 * radius_m, 1.1 * radius_m);
  segmentation.setInputCloud(cloud);
  segmentation.setInputNormals(normals);
  pcl::PointIndices inliers;
  pcl::ModelCoefficients found;
  segmentation.segment(inliers, found);
  const auto end = Clock::now();

  if (found.values.size() != 7) {
    std::fprintf(stderr, "pcl_cylinder: no cylinder found\n");
    return 1;
  }
  const auto &c = found.values;
  std::printf("{\"point_m\": [%.9g, %.9g, %.9g], \"axis\": [%.9g, %.9g, %.9g], \"radius_m\": %.9g, ", c[0], c[1], c[2], c[3], c[4], c[5], c[6]);
  std::printf("\"normals_s\": %.9g, \"fit_s\": %.9g}\n", seconds(begin, ready), seconds(ready, end));
  return 0;
}
